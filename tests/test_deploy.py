"""What `deploy` has works: the steps of the image, also without Docker, and two units behind nginx."""

import configparser
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import httpx
import postgres
import pytest
import yaml
from serving import PATIENCE, Serving

from matchbandit.cli import app
from matchbandit.leagues import Store, tokens
from matchbandit.leagues.service.settings import Settings

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
        monkeypatch.setenv("MATCHBANDIT_PORT", server.address.rpartition(":")[2])
        check = json.loads(of(final, "HEALTHCHECK")[0].partition("CMD ")[2])
        subprocess.run(check, check=True, cwd=tmp_path)
    assert subprocess.run(check, check=False, capture_output=True, cwd=tmp_path).returncode != 0  # it has ended


def test_settings_in_deploy_exist():
    """Each variable is a setting, and the unit of systemd starts a command that exists."""
    unit = configparser.ConfigParser(strict=False, delimiters="=", interpolation=None)
    unit.optionxform = str
    text = (DEPLOY / "matchbandit@.service").read_text(encoding="utf-8")
    unit.read_string(text)
    assert shlex.split(unit["Service"]["ExecStart"])[1:] == ["serve"]
    assert "serve" in [command.callback.__name__ for command in app.registered_commands]
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))["services"]
    names = {*re.findall(r"^Environment=(\w+)=", text, re.MULTILINE), *variables(), *compose["unit-1"]["environment"]}
    settings = {f"MATCHBANDIT_{name.upper()}" for name in Settings.model_fields}
    assert names <= settings | {"MATCHBANDIT_CACHE", "PGPASSWORD_FILE", "PATH"}


def test_the_proxy_of_compose_reaches_its_units():
    """Compose changes the addresses of nginx.conf to those of its units."""
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))["services"]
    edit = shlex.split(compose["proxy"]["command"][-1])
    edited = subprocess.run(
        ["sed", edit[1], DEPLOY / "nginx.conf"], capture_output=True, text=True, check=True, encoding="utf-8"
    ).stdout
    units = [compose[name]["networks"]["default"]["ipv4_address"] for name in ("unit-1", "unit-2")]
    assert re.findall(r"server ([\d.]+):8000 ", edited) == units
    assert compose["unit-1"]["environment"]["MATCHBANDIT_TRUSTED_PROXIES"] in str(compose["proxy"]["networks"])


@contextmanager
def nginx(folder, rate="50r/s", **ports):
    """A client of nginx with nginx.conf on these ports: `http`, `https`, and `unit_1` and `unit_2` behind it."""
    key = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"]
    files = ["-keyout", folder / "key.pem", "-out", folder / "certificate.pem"]
    subprocess.run([*key, *files], check=True, capture_output=True)
    text = (DEPLOY / "nginx.conf").read_text(encoding="utf-8").replace("/etc/matchbandit", str(folder))
    text = re.sub(r"listen \[.*", "", text)  # no IPv6 here
    for before, after in (
        ("rate=50r/s", f"rate={rate}"),
        ("listen 80;", f"listen 127.0.0.1:{ports['http']};"),
        ("listen 443 ssl;", f"listen 127.0.0.1:{ports['https']} ssl;"),
        ("127.0.0.1:8001", f"127.0.0.1:{ports['unit_1']}"),
        ("127.0.0.1:8002", f"127.0.0.1:{ports['unit_2']}"),
    ):
        assert before in text
        text = text.replace(before, after)
    temporary = " ".join(f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy"))
    unused = " ".join(f"{name}_temp_path {folder}/{name};" for name in ("fastcgi", "uwsgi", "scgi"))
    root = "user root;" if os.geteuid() == 0 else ""
    main = f"""{root} worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log; events {{}}
        http {{ access_log off; {temporary} {unused} {text} }}"""
    (folder / "nginx.conf").write_text(main, encoding="utf-8")
    command = ["nginx", "-c", folder / "nginx.conf", "-g", "daemon off;"]
    subprocess.run([*command, "-t"], check=True)
    process = subprocess.Popen(command)
    try:
        site, transport = f"https://127.0.0.1:{ports['https']}", httpx.HTTPTransport(verify=False, retries=8)
        with httpx.Client(base_url=site, transport=transport, timeout=PATIENCE) as client:  # retries until it listens
            yield client
    finally:
        process.send_signal(signal.SIGQUIT)
        process.wait(PATIENCE)


needs_nginx = pytest.mark.skipif(not (shutil.which("nginx") and shutil.which("openssl")), reason="nginx is not here")


def free_ports(number):
    """Ports that nobody listens to."""
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [listener.getsockname()[1] for listener in listeners]
    for listener in listeners:
        listener.close()
    return ports


def port_of(server):
    return server.address.rpartition(":")[2]


@needs_nginx
@pytest.mark.slow
def test_requests_go_on_when_one_of_two_units_behind_nginx_is_killed(tmp_path):
    url = postgres.fresh_database()
    with Store(url) as store:
        store.create("club", players=[f"player {k}" for k in range(8)])
        _, secret = tokens.create(store, "test", scope="admin")
    http, https = free_ports(2)
    acknowledged, statuses, stopped = [], set(), Event()

    def play(name):
        """Ask again and again; a request that failed is repeated under its key until it is acknowledged."""
        number = 0
        while not stopped.is_set():
            number += 1
            answer = None
            while answer is None or answer.status_code == 503:
                answer = client.post("/v1/leagues/club/proposals", headers={"Idempotency-Key": f"{name}-{number}"})
                statuses.add(answer.status_code)
            acknowledged.append(answer.json().get("number"))

    with (
        Serving(url, tmp_path) as first,
        Serving(url, tmp_path) as second,
        nginx(tmp_path, http=http, https=https, unit_1=port_of(first), unit_2=port_of(second)) as client,
    ):
        client.headers["Authorization"] = f"Bearer {secret}"
        assert client.get("/healthz").text == "ok"
        assert httpx.get(f"http://127.0.0.1:{http}/x").headers["location"] == "https://127.0.0.1/x"
        assert client.post("/v1/leagues/club/proposals", content=bytes(2**20 + 1)).status_code == 413
        players = [Thread(target=play, args=(name,)) for name in "ab"]
        for player in players:
            player.start()
        second.until(lambda: len(acknowledged) > 20)
        first.kill()
        before = len(acknowledged)
        second.until(lambda: len(acknowledged) > before + 40)
        stopped.set()
        for player in players:
            player.join(PATIENCE)
    assert statuses <= {201, 503}
    assert sorted(acknowledged) == [*range(1, len(acknowledged) + 1)]  # no number is lost or given twice


@needs_nginx
def test_nginx_refuses_with_problems_without_units_and_above_the_rate(tmp_path):
    http, https, unit_1, unit_2 = free_ports(4)
    with nginx(tmp_path, "1r/m", http=http, https=https, unit_1=unit_1, unit_2=unit_2) as client:
        answers = [client.get("/v1/leagues") for _ in range(210)]
    codes = {(answer.status_code, answer.json()["code"], answer.headers["retry-after"]) for answer in answers}
    assert codes == {(503, "server-busy", "1"), (429, "too-many-requests", "1")}
    assert {answer.headers["content-type"] for answer in answers} == {"application/problem+json"}


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
