"""The digest of code: nothing that simulation imports may be forgotten."""

import ast
import importlib
import sys
from pathlib import Path

import pytest

import matchbandit
from matchbandit.lab.studies import code
from matchbandit.lab.studies.study import Study

PACKAGE = Path(matchbandit.__file__).parent


def imported_by(file):
    """Yield the modules of this package that a file imports at run time, as paths without a suffix."""
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
    return [path.with_suffix(".py")] if path.with_suffix(".py").is_file() else [*path.rglob("*.py")]


@pytest.mark.slow
def test_all_that_simulation_imports_is_digested_or_known_to_have_no_effect():
    digested, others = ({PACKAGE / name for name in names} for names in (code.NUMERICAL, code.NOT_NUMERICAL))
    seen, waiting = set(), files_of(PACKAGE / "simulation")
    while waiting:
        file = waiting.pop()
        if file in seen:
            continue
        seen.add(file)
        inside = {file.with_suffix(""), *file.parents}
        assert inside & (digested | others), f"{file} may change numbers: name it in {code.__name__}"
        if inside & digested:
            waiting += [each for path in imported_by(file) for each in files_of(path)]
    assert PACKAGE / "solvers" / "best.py" in seen
    assert len(seen) > 80
    assert all(files_of(PACKAGE / name) for name in code.NUMERICAL)


@pytest.mark.parametrize("is_namespace", [False, True], ids=["package", "namespace package"])
def test_digest_of_user_code_changes_with_what_it_imports_but_not_with_comments(is_namespace, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    policy = "from matchbandit.policies.uniform import Uniform\nfrom .deep import helper\n"
    policy += "class Mine(Uniform):\n    name = 'mine'\n"
    files = {"own_pack/__init__.py": "", "own_pack/policy.py": policy, "own_pack/deep/__init__.py": ""}
    files |= {"own_pack/deep/helper.py": "import own_far\n", "own_far.py": "X = 1\n", "own_unrelated.py": "X = 1\n"}
    if is_namespace:
        files = {name: text for name, text in files.items() if "__init__" not in name}
    digests = []
    for change in ({}, {"own_far.py": "X = (1)  # one\n"}, {"own_unrelated.py": "X = 2"}, {"own_far.py": "X = 2\n"}):
        for name, text in {**files, **change}.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        importlib.invalidate_caches()
        study = Study(name="own", problem={"u": [0.9], "v": [0.8]}, policies=["own_pack.policy:Mine"], horizon=5)
        digests.append(code.code_digest(study.points[0]))
        for name in [name for name in sys.modules if name.startswith("own_")]:
            del sys.modules[name]
    assert digests[0] == digests[1] == digests[2] != digests[3]
