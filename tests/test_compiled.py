"""Compiled code is never stale, never breaks anyone else, and never needs a home."""

import os
import pickle
import stat
import subprocess
import sys
import textwrap
import warnings
from enum import IntEnum
from pathlib import Path

import numba
import numpy as np
import pytest

import matchbandit as mb
from matchbandit import cache_folder, numba_cache
from matchbandit.compiled import compiled
from matchbandit.fingerprint import describe_type, fingerprint

SRC = str(Path(mb.__file__).parents[1])

POLICY = """
    from typing import NamedTuple
    import numpy as np
    import matchbandit as mb
    from matchbandit.policies.combinatorial import update  # a built-in's function, with types of our own
    from matchbandit.compiled import compiled
    from helpers import best

    class Arrays(NamedTuple):
        plays: np.ndarray
        sums: np.ndarray
        total: np.ndarray

    @compiled
    def choose(arrays, rng, edges):
        edges[0] = best(arrays.plays)

    class Own(mb.RoundPolicy):
        '''Whatever the helper says.'''
        name, summary, reference = "own", "own", "own"
        capabilities = mb.Capabilities(selections=("pair",))
        choose, update = staticmethod(choose), staticmethod(update)

        def start(self):
            n = self.graph.n_pairs
            return Arrays(np.zeros(n, dtype=np.int64), np.zeros(n), np.zeros(1, dtype=np.int64))

        def recommend(self):
            return self.graph.pairs[[0]]

        def explain_extra(self):
            return {}
"""
HELPERS = """
    from matchbandit.compiled import compiled

    @compiled
    def best(plays):
        return {}
"""


def run(code, folder, *, cwd=None, **environment):
    """The code in a process of its own, with a cache in this folder."""
    env = {**os.environ, "MATCHBANDIT_CACHE": str(folder), "PYTHONPATH": SRC, **environment}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env=env, cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture
def own(tmp_path):
    """A policy of one's own in a module of one's own, with a helper in another."""
    (tmp_path / "own.py").write_text(textwrap.dedent(POLICY))
    (tmp_path / "helpers.py").write_text(textwrap.dedent(HELPERS.format("0")))
    return tmp_path


PLAY_OWN = """
    import matchbandit as mb
    from own import Own
    runs = mb.simulate(mb.Bipartite([.9, .5], [.8, .3]), mb.policy(Own), horizon=50, runs=1)
    print(runs.plays.argmax())
"""


def test_an_edit_of_a_helper_is_seen(own):
    assert run(PLAY_OWN, own / "cache", cwd=own).stdout.strip() == "0"
    (own / "helpers.py").write_text(textwrap.dedent(HELPERS.format("2")))
    assert run(PLAY_OWN, own / "cache", cwd=own).stdout.strip() == "2"


@pytest.mark.slow
def test_a_policy_of_ones_own_breaks_no_built_in(own, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    run(PLAY_OWN, own / "cache", cwd=own)
    code = """
        import matchbandit as mb
        mb.simulate(mb.Monopartite([.9, .8, .3, .2]), "cucb", horizon=50)  # the one whose function was borrowed
    """
    run(code, own / "cache", cwd=elsewhere)


@pytest.mark.parametrize("damage", [lambda _: b"", lambda _: b"nonsense", lambda content: content[: len(content) // 2]])
def test_a_damaged_entry_is_compiled_again(tmp_path, monkeypatch, damage):
    monkeypatch.setattr(numba_cache, "folder", lambda: tmp_path)

    @compiled
    def inner(x):
        return 2 * x

    @compiled
    def outer(x):
        return inner(x) + 1

    assert outer(3) == 7
    kept = {place: place.read_bytes() for place in tmp_path.rglob("*") if place.is_file()}
    assert kept
    for place, content in kept.items():
        place.write_bytes(damage(content))
    assert compiled(outer.py_func)(3) == 7
    assert any(len(place.read_bytes()) > 1000 for place in kept)  # mended


def test_an_entry_that_cannot_be_read_back_is_compiled_again(tmp_path, monkeypatch):
    monkeypatch.setattr(numba_cache, "folder", lambda: tmp_path)

    @compiled
    def plus(x):
        return x + 1

    assert plus(1) == 2
    (place,) = [place for place in tmp_path.rglob("plus*") if place.is_file()]
    body = pickle.dumps(("not", "what", "was", "kept"))
    place.write_bytes(numba_cache.blake2b(body, digest_size=numba_cache._DIGEST_BYTES).digest() + body)

    again = compiled(plus.py_func)
    assert again(1) == 2


@pytest.mark.slow
def test_without_a_folder_it_works_all_the_same(tmp_path):
    code = """
        import tempfile
        tempfile.tempdir = "/dev/null/none"
        import matchbandit as mb
        from matchbandit.cache_folder import folder
        print(folder(), mb.simulate(mb.Bipartite([.9, .8], [.3, .2]), "uts", horizon=50).final.shape)
    """
    done = run(code, "", HOME="/dev/null/no/home", XDG_CACHE_HOME="/dev/null/none", NUMBA_CACHE_DIR="")
    assert done.stdout.strip() == "None (1,)"


def test_a_folder_that_others_may_write_into_is_not_used(tmp_path, monkeypatch):
    shared = tmp_path / "matchbandit"
    shared.mkdir()
    shared.chmod(0o777)
    for name in ("MATCHBANDIT_CACHE", "NUMBA_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    chosen = cache_folder.folder.__wrapped__()
    assert chosen is not None
    assert chosen != shared
    shared.chmod(0o700)
    assert cache_folder.folder.__wrapped__() == shared
    assert stat.S_IMODE(shared.stat().st_mode) == 0o700


def test_a_full_disk_is_named_once(tmp_path, monkeypatch):
    monkeypatch.setattr(numba_cache, "folder", lambda: tmp_path)
    monkeypatch.setattr(cache_folder, "_warned", set())

    def full(self, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.warns(UserWarning, match="No space left on device.*MATCHBANDIT_CACHE"):
        assert compiled(lambda x: x + 1)(1) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiled(lambda x: x + 2)(1) == 3


def test_two_named_tuples_that_are_called_alike_are_told_apart():
    def make(fields):
        from collections import namedtuple

        return namedtuple("Arrays", fields)

    @compiled
    def first(arrays):
        return arrays.plays

    assert first(make("plays sums")(1.0, 2.0)) == 1.0
    assert first(make("sums plays")(1.0, 2.0)) == 2.0
    from numba import typeof

    one, other = typeof(make("plays sums")(1.0, 2.0)), typeof(make("sums plays")(1.0, 2.0))
    assert str(one) == str(other)
    assert describe_type(one) != describe_type(other)


def change_nothing(scope):
    pass


CHANGES = {
    "constant": lambda scope: scope.update(SCALE=3.0),
    "array": lambda scope: scope.update(TABLE=np.arange(1, 4)),
    "far digits of an array in a tuple": lambda scope: scope.update(TUPLE=(np.full(2000, 1 + 1e-12),)),
    "module": lambda scope: setattr(scope["other"], "inner", compiled(eval("lambda x: x + 2"))),
    "module in a module": lambda scope: setattr(scope["other"].deep, "bottom", compiled(eval("lambda x: x + 2"))),
    "enumeration": lambda scope: scope.update(Kind=IntEnum("Kind", {"A": 2})),
    "vectorized": lambda scope: scope.update(ufunc=numba.vectorize(eval("lambda x: x + 2"))),
    "code": change_nothing,
    "default": change_nothing,
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_fingerprint_sees_all_that_a_function_uses(change):
    import types

    module, deep = types.ModuleType("other"), types.ModuleType("other.deep")
    module.deep = deep
    scope = {"SCALE": 2.0, "TABLE": np.arange(3), "TUPLE": (np.full(2000, 1.0),), "other": module, "compiled": compiled}
    scope |= {"Kind": IntEnum("Kind", {"A": 1}), "ufunc": numba.vectorize(eval("lambda x: x + 1")), "ONES": np.ones(2)}
    module.inner = compiled(eval("lambda x: x + 1"))
    deep.bottom = compiled(eval("lambda x: x + 1"))

    def made():
        sign = "-" if change == "code" and changed else "+"
        scope["ONES"] = np.full(2, 2.0 if change == "default" and changed else 1.0)
        exec(f"def helper(x, d=ONES):\n    return x {sign} SCALE + TABLE[0] + TUPLE[0][5] + d[0]", scope)
        scope["helper"] = compiled(scope["helper"])
        called = "def called(x):\n    return helper(x) + other.inner(x) + other.deep.bottom(x) + Kind.A + ufunc(x)"
        exec(called, scope)
        return fingerprint(scope["called"])

    changed = False
    before = made()
    assert made() == before
    changed = True
    CHANGES[change](scope)
    assert made() != before


def test_a_function_whose_constant_has_changed_is_not_kept(tmp_path, monkeypatch):
    """What calls it is compiled with the old one inside, and must not be kept under the name of the new one."""
    monkeypatch.setattr(numba_cache, "folder", lambda: tmp_path)
    scope = {"compiled": compiled, "K": 1.0}
    exec("@compiled\ndef inner(x):\n    return x * K\n@compiled\ndef outer(x):\n    return inner(x)", scope)
    assert scope["inner"](1.0) == 1.0
    kept = len(list(tmp_path.rglob("*")))
    scope["K"] = 2.0
    scope["outer"](1.0)
    assert len(list(tmp_path.rglob("*"))) == kept


def test_tuples_of_named_tuples_are_told_apart():
    from collections import namedtuple

    from numba import typeof

    one, other = namedtuple("A", "x y"), namedtuple("A", "y x")
    assert describe_type(typeof((one(1, 2), one(1, 2)))) != describe_type(typeof((other(1, 2), other(1, 2))))


@pytest.mark.slow
def test_ones_own_compiled_code_is_not_announced(tmp_path):
    code = """
        import matchbandit.numba_cache as cache
        from numba import njit
        cache.NOTICE_AFTER_S = 0.0
        njit(lambda x: x + 1)(1)
    """
    assert run(code, tmp_path).stderr == ""


@pytest.mark.slow
def test_workers_find_it_compiled_and_it_is_said_once(tmp_path):
    """They compiled their own loop: the means were writable there, and read-only in the parent."""
    code = """
        import os
        import matchbandit as mb
        import matchbandit.numba_cache as cache
        from numba.core import event
        cache.NOTICE_AFTER_S = 0.0

        class InWorkers(event.Listener):
            parent = os.getpid()
            def on_start(self, event):
                if os.getpid() != self.parent:
                    os.write(1, b"compiled in a worker")
            def on_end(self, event):
                pass

        event.register("numba:compile", InWorkers())
        mb.simulate(mb.Bipartite([.9, .8], [.3, .2]), "kl-ucb", horizon=50, runs=4, workers=2)
    """
    done = run(code, tmp_path)
    assert done.stderr.count("compiling") == 1
    assert done.stdout == ""


@pytest.mark.slow
def test_waiting_is_said_once_on_stderr_and_the_second_process_compiles_nothing(tmp_path):
    code = """
        import matchbandit as mb
        import matchbandit.numba_cache as cache
        from numba.core import event
        cache.NOTICE_AFTER_S = 0.0
        with event.install_recorder("numba:compile") as recorder:
            mb.simulate(mb.Bipartite([.9, .8], [.3, .2]), "uts", horizon=50)
            mb.simulate(mb.Bipartite([.9, .8], [.3, .2]), "kl-ucb", horizon=50)
        print(len(recorder.buffer) // 2)
    """
    first, second = run(code, tmp_path), run(code, tmp_path)
    assert first.stderr.count("compiling") == 1
    assert str(tmp_path) in first.stderr
    assert int(first.stdout) > 0
    assert second.stderr == ""
    assert int(second.stdout) == 0


@pytest.mark.slow
def test_everything_works_without_compiling():
    code = """
        import matchbandit as mb
        one = mb.simulate(mb.Bipartite([.9, .8], [.3, .2]), "uts", horizon=200, seed=3)
        p = mb.policy("rank1-thompson").build(mb.monopartite(4), seed=1)
        for _ in range(5):
            p.tell(p.ask(), [1, 0])
        print(one.plays.tolist(), p.ask().tolist())
    """
    cache_of_tests = os.environ["MATCHBANDIT_CACHE"]  # other tests have compiled these
    plain = run(code, cache_of_tests, NUMBA_DISABLE_JIT="1")
    assert "plain Python" in plain.stderr
    assert plain.stdout == run(code, cache_of_tests).stdout


@pytest.mark.slow
def test_a_numba_without_the_private_names_is_slower_and_breaks_nobody(own):
    """numba's own cache is used, and an edit of a user's helper is seen all the same."""
    code = """
        import numba.core.caching
        del numba.core.caching._Cache
        import matchbandit as mb
        from own import Own
        p = mb.policy(Own).build(mb.bipartite(2, 2), seed=1)
        p.tell(p.ask(), [1])
        print(p.ask().tolist())
    """
    in_the_loop = """
        print(mb.simulate(mb.Bipartite([.9, .8], [.3, .2]), "uts", horizon=200, seed=3).plays.tolist())
    """
    cache_of_numba = {"NUMBA_CACHE_DIR": os.environ["MATCHBANDIT_CACHE"]}
    first = run(code + in_the_loop, own, cwd=own, **cache_of_numba)
    assert first.stderr.count("is newer than the versions that matchbandit was tested with") == 1
    usual = mb.simulate(mb.Bipartite([0.9, 0.8], [0.3, 0.2]), "uts", horizon=200, seed=3)
    assert first.stdout.splitlines() == ["[[0, 0]]", str(usual.plays.tolist())]
    (own / "helpers.py").write_text(textwrap.dedent(HELPERS.format("2")))
    assert run(code, own, cwd=own, **cache_of_numba).stdout.strip() == "[[1, 0]]"


@pytest.mark.slow
def test_a_numba_that_stores_code_in_another_way_is_not_relied_on(tmp_path):
    code = """
        import numba
        del numba.core.compiler.CompileResult._rebuild
        from matchbandit.compiled import HAS_PRIVATE_NAMES, compiled
        print(HAS_PRIVATE_NAMES, compiled(lambda x: 2 * x)(21))
    """
    assert run(code, tmp_path).stdout.strip() == "False 42"


def test_two_closures_of_the_same_code_are_cached_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(numba_cache, "folder", lambda: tmp_path)

    def make(inner):
        def outer(x):
            return inner(x) + 1

        return compiled(outer)

    def double(x):
        return 2 * x

    def triple(x):
        return 3 * x

    assert [make(compiled(inner))(5) for inner in (double, triple)] == [11, 16]
    assert len([path for path in tmp_path.rglob("outer*") if path.is_file()]) == 2
    again = [make(compiled(inner)) for inner in (triple, double)]
    assert [function(5) for function in again] == [16, 11]
    assert [sum(function.stats.cache_hits.values()) for function in again] == [1, 1]
