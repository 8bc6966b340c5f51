"""Ctrl-C in the middle of a method: no acknowledgement, nothing half-written, and the store goes on."""

import inspect
import shutil
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from league_writes import WRITES, fill, state

import matchbandit.leagues
from matchbandit.leagues import Store

PACKAGE = str(Path(matchbandit.leagues.__file__).parent)


class Interrupt:
    """Raises KeyboardInterrupt where Python would after a signal: as one of the package's functions begins."""

    def __init__(self, at: int | None) -> None:
        """At the call of this number; None: never."""
        self.at, self.n_calls = at, 0

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        # Generators are left out: an exception as one is closed reaches nobody.
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and not code.co_flags & inspect.CO_GENERATOR:
            self.n_calls += 1
            if self.n_calls == self.at:
                raise KeyboardInterrupt

    def __enter__(self) -> "Interrupt":
        sys.setprofile(self)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)


@pytest.mark.sampled(22)
@pytest.mark.parametrize("part", range(10))
@pytest.mark.parametrize("name", WRITES)
def test_interrupted_method_is_executed_once_when_it_is_repeated(name, part, sqlite_url, tmp_path):
    with Store(sqlite_url) as store:
        fill(store)
        before = state(store)
    for copy in (tmp_path / "first.db", tmp_path / "second.db"):  # the first time, more is computed once for all
        shutil.copyfile(tmp_path / "store.db", copy)
        with Store(f"sqlite:///{copy}") as store:
            store.open("club").ranking()
            with Interrupt(None) as whole:
                WRITES[name](store, "key")
            expected = state(store)
    with Store(sqlite_url, timeout=1.0) as store, Store(sqlite_url) as other:
        store.open("club").ranking()  # there is a cache to spoil
        with pytest.raises(KeyboardInterrupt), Interrupt(1 + part * whole.n_calls // 10):
            WRITES[name](store, "key")
        assert state(other) in (before, expected)
        answer = WRITES[name](store, "key")
        assert WRITES[name](other, "key") == answer
        assert state(store) == state(other) == expected
        assert store.open("club").ranking() == other.open("club").ranking()
        assert store.open("club").check() == []
