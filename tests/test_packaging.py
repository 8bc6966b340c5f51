"""What a package index shows, and what is installed with what."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_on_a_package_index_every_picture_and_link_of_the_readme_is_whole():
    shown = (ROOT / "README.md").read_text(encoding="utf-8")
    for change in PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        shown = re.sub(change["pattern"], change["replacement"], shown)
    targets = re.findall(r"\]\(([^)]+)\)", shown)
    assert targets
    assert [target for target in targets if not target.startswith(("https://", "#"))] == []
    for picture in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", shown):
        assert picture.startswith("https://raw.githubusercontent.com/")


def test_extras_are_not_installed_with_the_core_and_all_is_all_of_them():
    core = " ".join(PROJECT["project"]["dependencies"])
    extras = PROJECT["project"]["optional-dependencies"]
    assert not any(name in core for name in ("matplotlib", "pyarrow"))
    assert not any(name in core for name in ("distributed", "fastapi", "sphinx", "sqlalchemy"))
    assert set(extras) - {"all", "dev", "docs"} == {"lab", "dask", "live"}  # what users run; the others build and test
    assert extras["all"] == ["matchbandit[lab,dask,live]"]
    assert "matchbandit[all]" in extras["dev"]


@pytest.mark.parametrize(("target", "extra"), [("reproduce", "lab"), ("test", "dev"), ("docs", "dev")])
def test_make_installs_the_extra_that_its_target_needs(tmp_path, target, extra):
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    planned = subprocess.run(["make", "-n", target], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert re.findall(r'pip install .*"\.\[(\w+)\]"', planned) == [extra]
