"""What a package index shows, and what is installed with what."""

import re
import tomllib
from pathlib import Path

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
