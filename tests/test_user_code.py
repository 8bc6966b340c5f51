"""Code of the user's own, found by name."""

import os
import sys

import pytest

import matchbandit as mb
from matchbandit.user_code import import_name, is_user_defined, load_object, module_of, summarize_error


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("mine_"):
            del sys.modules[name]


def test_names_of_ones_own_have_a_colon():
    assert is_user_defined("a:B")
    assert not is_user_defined("uts")
    assert not is_user_defined(["a:B"])
    assert module_of("a.b:C.D") == "a.b"


def test_the_folder_comes_before_the_current_one_and_before_what_is_installed(folder):
    (folder / "mine_a.py").write_text("where = 'folder'")
    (folder / "here" / "mine_a.py").write_text("where = 'here'")
    (folder / "here" / "mine_b.py").write_text("where = 'here'")
    assert load_object("mine_a:where", "a thing", folder=folder) == "folder"
    assert load_object("mine_b:where", "a thing", folder=folder) == "here"
    assert load_object("math:pi", "a thing", folder=folder) > 3


def test_packages_and_what_stands_inside_a_class_are_found(folder):
    (folder / "mine_p").mkdir()
    (folder / "mine_p" / "__init__.py").write_text("")
    (folder / "mine_p" / "inner.py").write_text("class A:\n    class B:\n        pass\n")
    assert load_object("mine_p.inner:A.B", "a class", folder=folder).__name__ == "B"
    with pytest.raises(mb.MatchbanditError, match=r"unknown module 'mine_p\.none'"):
        load_object("mine_p.none:A", "a class", folder=folder)
    with pytest.raises(mb.MatchbanditError, match=r"unknown module 'mine_q\.inner'"):
        load_object("mine_q.inner:A", "a class", folder=folder)


def test_what_a_module_imports_late_is_still_found(folder):
    (folder / "mine_late.py").write_text("def f():\n    import mine_sister\n    return mine_sister.x\n")
    (folder / "mine_sister.py").write_text("x = 5")
    before = list(sys.path)
    assert load_object("mine_late:f", "a function", folder=folder)() == 5
    assert sys.path[: len(before)] == before  # what was found before is found as before


def test_a_module_that_failed_once_can_be_mended(folder):
    (folder / "mine_bad.py").write_text("1 / 0")
    with pytest.raises(mb.MatchbanditError, match=r"ZeroDivisionError: division by zero \(mine_bad.py, line 1\)"):
        load_object("mine_bad:x", "a thing", folder=folder)
    (folder / "mine_bad.py").write_text("x = 1  # mended, and longer")
    assert load_object("mine_bad:x", "a thing", folder=folder) == 1


@pytest.mark.parametrize("name", ["", ":", "a:", ":b", "a b:c", "a:b c", "a..b:c", "1a:b", "a:b:c", "a/b:c"])
def test_a_name_that_cannot_be_one_is_refused(name):
    with pytest.raises(mb.MatchbanditError, match="is named module:name"):
        load_object(name, "a policy")


def test_names_lead_back_to_what_they_name():
    assert load_object(import_name(is_user_defined, "a function"), "a function") is is_user_defined
    with pytest.raises(mb.MatchbanditError, match="defined inside a function"):
        import_name(lambda: 1, "the family")

    def is_user_defined_too():
        pass

    is_user_defined_too.__module__, is_user_defined_too.__qualname__ = "matchbandit.user_code", "is_user_defined"
    with pytest.raises(mb.MatchbanditError, match="has been redefined since"):
        import_name(is_user_defined_too, "the family")


def test_an_error_in_one_line():
    assert summarize_error(ValueError("first.\nsecond")) == "ValueError: first"
    assert summarize_error(KeyError()) == "KeyError"


def test_policies_and_families_by_name(folder):
    (folder / "here" / "mine_code.py").write_text(
        "import matchbandit as mb\n"
        "from matchbandit.policies.uniform import Uniform\n"
        "class Own(Uniform):\n    name = 'own'\n"
        "class Nameless(mb.Policy):\n    pass\n"
        "def drawn(n: int, top=0.9, *, rewards, rng):\n"
        "    return mb.Bipartite([top] + [0.1] * (n - 1), [0.5, 0.1], rewards=rewards)\n"
        "def wrong(n, *, rewards, rng):\n    return n\n"
        "def refusing(n, *, rewards, rng):\n    return mb.Bipartite([n], [0.5])\n"
    )
    spec = mb.policy("mine_code:Own", selection="pair")
    assert (spec.name, spec.options) == ("own", {"selection": "pair"})
    drawn = mb.family("mine_code:drawn", n=2)
    assert drawn.parameters == {"n": 2, "top": 0.9}
    assert drawn.draw().u.tolist() == [0.9, 0.1]
    assert mb.simulate(drawn, spec, horizon=10, seed=1).about.policy == "own"
    for name, told in {"Own": "is not a family", "wrong": "must return a problem", "refusing": "u must lie in"}.items():
        with pytest.raises(mb.MatchbanditError, match=told):
            mb.family(f"mine_code:{name}", **({} if name == "Own" else {"n": 2}))
    with pytest.raises(mb.MatchbanditError, match="does not say its name"):
        mb.policy("mine_code:Nameless")
    with pytest.raises(mb.MatchbanditError, match="mine_code:drawn is not a policy"):
        mb.policy("mine_code:drawn")


def test_a_module_that_is_younger_than_what_python_remembers_is_found(folder):
    with pytest.raises(mb.MatchbanditError, match="unknown module 'mine_young'"):
        load_object("mine_young:x", "a thing", folder=folder)
    before = folder.stat()
    (folder / "mine_young.py").write_text("x = 1")
    os.utime(folder, ns=(before.st_atime_ns, before.st_mtime_ns))  # as if it had come within the same tick of the clock
    assert load_object("mine_young:x", "a thing", folder=folder) == 1
