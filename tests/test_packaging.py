"""What the wheel and the sdist hold, and that they can be installed."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import BytesParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SIMULATION = """
import matchbandit as mb
runs = mb.simulate(mb.Bipartite(u=[0.9, 0.2], v=[0.8, 0.1]), "uts", horizon=100, runs=2, seed=1)
"""
LEAGUE = """
import matchbandit.leagues.service.app
from matchbandit.leagues import Store
with Store("sqlite:///club.db") as store:
    store.create("club", players=["ann", "bob"], seed=1).ask()
"""
SMOKE_TESTS = {
    "core": SIMULATION,
    "lab": SIMULATION + "runs.plot()\nruns.save('runs.parquet')\nmb.load('runs.parquet')",
    "dask": "import distributed, matchbandit.lab.studies",
    "leagues": LEAGUE,
    "all": LEAGUE + "import distributed, matplotlib, pyarrow",
    "docs": "import furo, myst_nb, sphinx",
    "paper": "import pypandoc, typst\npypandoc.get_pandoc_version()",
}
SDIST_TESTS = [
    "test_graphs.py",
    "test_kl.py",
    "test_packaging.py",
    "test_paper.py",
    "test_rewards.py",
    "test_seeding.py",
]


def python(*arguments, cwd, **environment):
    """Run Python, and fail with its output."""
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1", **environment}
    done = subprocess.run(
        [sys.executable, *map(str, arguments)], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def project_files():
    """The files of the project: those in git, or, in an unpacked sdist, all but what tools leave behind."""
    if (ROOT / ".git").exists():
        if not shutil.which("git"):
            pytest.skip("no git to list the files of the project")
        command = ["git", "-c", "safe.directory=*", "ls-files"]  # whoever the checkout belongs to
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        return {name for name in listed.stdout.splitlines() if (ROOT / name).exists()}
    leftovers = {line.strip("/\n") for line in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()}
    files = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
    return {path.as_posix() for path in files if not leftovers & {*path.parts, path.as_posix()}} - {"PKG-INFO"}


@pytest.fixture(scope="module")
def distributions(tmp_path_factory):
    """The wheel and the sdist, built with the installed build tools."""
    folder = tmp_path_factory.mktemp("dist")
    python("-m", "build", "--no-isolation", "--wheel", "--sdist", "--outdir", folder, ROOT, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    (sdist,) = folder.glob("*.tar.gz")
    return wheel, sdist


@pytest.mark.slow
def test_the_metadata_is_valid_and_names_the_command(distributions):
    wheel, _ = distributions
    with zipfile.ZipFile(wheel) as archive:
        name = f"matchbandit-{PROJECT['version']}.dist-info"
        metadata = BytesParser().parsebytes(archive.read(f"{name}/METADATA"))
        assert (
            archive.read(f"{name}/entry_points.txt").split()
            == b"[console_scripts] matchbandit = matchbandit.cli:main".split()
        )
    assert metadata["Version"] == PROJECT["version"]
    assert python("-m", "twine", "check", "--strict", *distributions, cwd=wheel.parent).count("PASSED") == 2


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_nothing_else(distributions):
    with zipfile.ZipFile(distributions[0]) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        licenses = {name.partition("/licenses/")[2] for name in archive.namelist() if "/licenses/" in name}
    package = {name.removeprefix("src/") for name in project_files() if name.startswith("src/")}
    assert names == package
    assert "matchbandit/py.typed" in names
    assert {name for name in package if re.search("LICENSE|NOTICE", name)} == {
        name.removeprefix("src/") for name in licenses - {"LICENSE"}
    }


@pytest.mark.slow
def test_the_sdist_holds_every_file_of_the_project(distributions):
    with tarfile.open(distributions[1]) as archive:
        names = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    assert names - {"PKG-INFO"} == project_files()


def new_environment(folder):
    python("-m", "venv", folder, cwd=folder.parent)
    return folder / "bin" / "python"


@pytest.mark.slow
@pytest.mark.parametrize("extra", SMOKE_TESTS)
def test_the_wheel_works_in_an_empty_environment(distributions, tmp_path, extra):
    interpreter = new_environment(tmp_path / "environment")
    wheel = f"{distributions[0]}" if extra == "core" else f"{distributions[0]}[{extra}]"
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    for command in (
        [interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel],
        [interpreter, "-m", "pip", "check"],
        [interpreter, "-c", SMOKE_TESTS[extra]],
        [interpreter.with_name("matchbandit"), "policies"],
    ):
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_sdist_passes_its_own_tests(distributions, tmp_path):
    with tarfile.open(distributions[1]) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    installed = tmp_path / "installed"
    python(
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--target",
        installed,
        source,
        cwd=tmp_path,
    )
    where = python("-c", "import matchbandit; print(matchbandit.__file__)", cwd=source, PYTHONPATH=str(installed))
    assert where.startswith(str(installed))
    tests = [f"tests/{name}" for name in SDIST_TESTS]
    python("-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, cwd=source, PYTHONPATH=str(installed))
    collected = python("-m", "pytest", "-q", "--collect-only", "tests", cwd=source, PYTHONPATH=str(installed))
    assert re.search(r"\d{4}/\d+ tests collected", collected)
