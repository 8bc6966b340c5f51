import ast
from pathlib import Path

import pytest

import matchbandit
from matchbandit.studies import versions
from matchbandit.studies.versions import FINGERPRINTED, NOT_FINGERPRINTED, other_versions

PACKAGE = Path(matchbandit.__file__).parent


def imported_by(file):
    """The modules of this package that a file imports at run time, anywhere in it, by their paths without a suffix."""
    waiting = [ast.parse(file.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        waiting += ast.iter_child_nodes(node)
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            top, *path = name.split(".")
            if top == "matchbandit" and path:
                yield PACKAGE.joinpath(*path)


def files_of(path):
    """The file of a module, or those of a package and all that is in it."""
    return [path.with_suffix(".py")] if path.with_suffix(".py").is_file() else [*path.rglob("*.py")]


@pytest.mark.slow
def test_everything_that_simulation_imports_is_fingerprinted_or_known_to_have_no_effect():
    fingerprinted, others = ({PACKAGE / name for name in names} for names in (FINGERPRINTED, NOT_FINGERPRINTED))
    seen, waiting = set(), files_of(PACKAGE / "simulation")
    while waiting:
        file = waiting.pop()
        if file in seen:
            continue
        seen.add(file)
        inside = {file.with_suffix(""), *file.parents}
        assert inside & (fingerprinted | others), f"{file} may change numbers: name it in studies/versions.py"
        if inside & fingerprinted:
            waiting += [each for path in imported_by(file) for each in files_of(path)]
    assert PACKAGE / "solvers" / "best.py" in seen
    assert len(seen) > 80


@pytest.mark.parametrize("name", FINGERPRINTED)
def test_what_is_fingerprinted_exists(name):
    assert files_of(PACKAGE / name)


@pytest.fixture
def package(tmp_path, monkeypatch):
    for name in ("policies/one.py", "service/app.py", "live/store.py", "results/tables.py", "results/plotting.py"):
        file = tmp_path / "matchbandit" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x = 1")
    (tmp_path / "matchbandit" / "seeding.py").write_text("x = 1")
    monkeypatch.setattr(versions, "files", lambda _: tmp_path / "matchbandit")
    return tmp_path / "matchbandit"


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("policies/one.py", True),
        ("seeding.py", True),
        ("results/tables.py", True),
        ("results/plotting.py", False),
        ("service/app.py", False),
        ("live/store.py", False),
    ],
)
def test_only_an_edit_of_what_may_change_numbers_changes_the_fingerprint(package, name, changes):
    fingerprint = versions._source_fingerprint.__wrapped__
    before = fingerprint()
    (package / name).write_text("x = 2")
    assert (fingerprint() != before) is changes


def test_folders_that_recorded_the_fingerprint_of_more_files_are_accepted():
    now = versions.versions()
    then = {**{name: now[name] for name in versions.COMPARED}, "matchbandit source": "0123456789abcdef"}
    assert other_versions(then, now) == []
    assert other_versions({**now, versions.SOURCE: "0123456789abcdef"}, now) == [
        f"matchbandit's source of simulation and policies has changed since (01234567, now {now[versions.SOURCE][:8]})"
    ]
