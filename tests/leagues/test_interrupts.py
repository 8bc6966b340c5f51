"""Ctrl-C in the middle of a method: no acknowledgement, nothing half-written, and the store goes on."""

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from league_load import check_tables
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
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE) and frame.f_code.co_name != "<genexpr>":
            self.n_calls += 1
            if self.n_calls == self.at:
                raise KeyboardInterrupt

    def __enter__(self) -> "Interrupt":
        sys.setprofile(self)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
