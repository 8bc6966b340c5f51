"""The steps of the image work, also without Docker."""

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
from serving import PATIENCE, Serving

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
        server.until(lambda: httpx.get(f"{server.address}/readyz", timeout=PATIENCE).status_code == 200)
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
