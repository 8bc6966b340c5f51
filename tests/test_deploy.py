"""The image and the compose file: their parts are as Docker expects them, and their steps work, also without Docker."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import postgres
import pytest
import yaml
from serving import PATIENCE, Serving

from matchbandit.service.server import Server
from matchbandit.service.settings import Settings, read_values

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"
INSTRUCTIONS = {"FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"}


def instructions():
    """Each instruction of the Dockerfile and its words, by stage."""
    text = re.sub(r"^#.*\n", "", (DEPLOY / "Dockerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    stages = []
    for line in filter(None, text.replace("\\\n", " ").splitlines()):
        name, words = line.split(maxsplit=1)
        assert name in INSTRUCTIONS, line
        if name == "FROM":
            stages.append([])
        stages[-1].append((name, words))
    return stages


def of(stage, wanted):
    return [words for name, words in stage if name == wanted]


def variables():
    """What ENV sets in the image."""
    return dict(word.split("=", 1) for words in of(instructions()[-1], "ENV") for word in shlex.split(words))


def copied():
    """The files and folders of the project that the image is built from."""
    lines = [shlex.split(words) for stage in instructions() for words in of(stage, "COPY")]
    return [word for words in lines if not words[0].startswith("--from") for word in words[:-1] if word[:2] != "--"]


def test_the_image_runs_as_a_user_of_its_own_with_a_volume_and_a_health_check():
    final = instructions()[-1]
    names = [name for name, _ in final]
    (user,) = of(final, "USER")
    assert re.search(rf"useradd .*--uid \d{{5}} .*{user}", " ".join(of(final, "RUN")))
    assert "matchbandit warm-up" in of(final[names.index("USER") :], "RUN")  # as the user who needs what is compiled
    assert of(final, "VOLUME") == ["/var/lib/matchbandit"]
    assert "/readyz" in json.loads(of(final, "HEALTHCHECK")[0].partition("CMD ")[2])[-1]
    assert json.loads(of(final, "CMD")[0]) == ["serve"]
    server, _ = read_values((Server, Settings), {}, variables())
    assert (server["host"], server["port"]) == ("0.0.0.0", int(of(final, "EXPOSE")[0]))


def test_what_the_image_copies_is_there_and_is_not_ignored():
    rules = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").split()
    assert rules[0] == "*"
    assert sorted(copied()) == sorted(rule[1:] for rule in rules if rule.startswith("!"))
    assert all((ROOT / name).exists() for name in copied())


def test_the_compose_file_is_whole_and_holds_no_secret():
    text = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    compose = yaml.safe_load(text)
    db, app = compose["services"]["db"], compose["services"]["app"]
    assert app["depends_on"] == {"db": {"condition": "service_healthy"}}
    assert "healthcheck" in db
    assert (DEPLOY / app["build"]["context"] / app["build"]["dockerfile"]).samefile(DEPLOY / "Dockerfile")
    assert {volume.split(":")[0] for volume in db["volumes"]} == set(compose["volumes"])
    for service in (db, app):
        assert service["secrets"] == list(compose["secrets"])
        secret = f"/run/secrets/{service['secrets'][0]}"
        assert secret in service["environment"].values()
        assert not any(re.search("PASSWORD$", name) for name in service["environment"])
    server, _ = read_values((Server, Settings), {}, app["environment"])
    assert server["store"] == f"postgresql://{db['environment']['POSTGRES_USER']}@db/{db['environment']['POSTGRES_DB']}"
    assert server["trusted_proxies"]
    assert all(port.startswith("127.0.0.1:") for port in app["ports"])
    needed = Settings().max_connections + 32
    assert app["ulimits"]["nofile"] > needed
    secret_file = (DEPLOY / compose["secrets"]["db_password"]["file"]).relative_to(ROOT)
    assert f"/{secret_file}" in (ROOT / ".gitignore").read_text(encoding="utf-8").split()


def test_the_entrypoint_reads_the_password_from_its_file(tmp_path):
    program = tmp_path / "matchbandit"
    program.write_text('#!/bin/sh\necho "$PGPASSWORD:$*"\n')
    program.chmod(0o755)
    (tmp_path / "secret").write_text("geheim\n")
    paths = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}

    def run(*words, **more):
        return subprocess.run(
            [DEPLOY / "entrypoint.sh", *words], env={**paths, **more}, capture_output=True, text=True, check=False
        )

    assert run("serve", "--port", "1", PGPASSWORD_FILE=str(tmp_path / "secret")).stdout == "geheim:serve --port 1\n"
    assert run("serve", PGPASSWORD="other").stdout == "other:serve\n"
    assert run("serve", PGPASSWORD_FILE=str(tmp_path / "none")).returncode != 0


@pytest.mark.slow
def test_the_steps_of_the_image_work_in_a_virtual_environment(tmp_path, monkeypatch):
    """Install, warm up, make a token, serve from PostgreSQL and check its health, as the Dockerfile does."""
    places = {"/opt/matchbandit": tmp_path / "opt", "/var/lib/matchbandit": tmp_path / "lib"}
    places["/var/cache/matchbandit"] = tmp_path / "cache"

    def here(text):
        for place, folder in places.items():
            text = text.replace(place, str(folder))
        return text

    for folder in ("lib", "cache"):
        (tmp_path / folder).mkdir(mode=0o700)
    build = tmp_path / "build"
    for name in copied():
        (build / name).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, build / name)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    for name, value in variables().items():
        monkeypatch.setenv(name, here(os.path.expandvars(value)))
    python = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    first, final = instructions()
    subprocess.run(["sh", "-c", here(of(first, "RUN")[0])], cwd=build, env=python, check=True)
    subprocess.run(["sh", "-c", here(of(final, "RUN")[-1])], cwd=tmp_path, check=True)

    url = postgres.fresh_database()
    monkeypatch.setenv("MATCHBANDIT_STORE", url)
    (tmp_path / "secret").write_text("not asked for here")
    monkeypatch.setenv("PGPASSWORD_FILE", str(tmp_path / "secret"))
    entrypoint = str(build / "deploy" / "entrypoint.sh")
    subprocess.run([entrypoint, "token", "new", "--label", "test"], check=True, capture_output=True, cwd=tmp_path)
    with Serving(None, tmp_path, "--host", "127.0.0.1", command=[entrypoint, "serve"]) as server:
        assert httpx.get(f"{server.address}/readyz", timeout=PATIENCE).status_code == 200
        monkeypatch.setenv("MATCHBANDIT_SERVE_PORT", server.address.rpartition(":")[2])
        check = json.loads(of(final, "HEALTHCHECK")[0].partition("CMD ")[2])
        subprocess.run(check, check=True, cwd=tmp_path)
    assert subprocess.run(check, check=False, capture_output=True, cwd=tmp_path).returncode != 0  # it has ended


def has_docker():
    if not shutil.which("docker"):
        return False
    return subprocess.run(["docker", "info"], capture_output=True, check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(not has_docker(), reason="no Docker daemon runs on this machine")
def test_docker_builds_the_image_and_runs_it_as_its_user():
    build = ["docker", "build", "--quiet", "--file", DEPLOY / "Dockerfile", ROOT]
    image = subprocess.run(build, capture_output=True, text=True, check=True).stdout.strip()
    run = ["docker", "run", "--rm", image, "token", "new", "--label", "test"]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout.startswith("mbt_")
    user = ["docker", "run", "--rm", "--entrypoint", "id", image, "--user"]
    assert subprocess.run(user, capture_output=True, text=True, check=True).stdout == "10001\n"
