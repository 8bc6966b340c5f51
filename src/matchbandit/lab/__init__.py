"""The laboratory: studies and their reports, the paper's figures, playback of runs, and replay of logs.

What simulates, solves or draws is below, in the library; leagues are beside it, and neither knows the other. Each name
is imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matchbandit.lab.paper.reproduce import Reproduction as Reproduction
    from matchbandit.lab.playback import Frame as Frame
    from matchbandit.lab.playback import Recorder as Recorder
    from matchbandit.lab.playback import Recording as Recording
    from matchbandit.lab.replay import Difference as Difference
    from matchbandit.lab.replay import ProposedPairs as ProposedPairs
    from matchbandit.lab.replay import RankedPolicy as RankedPolicy
    from matchbandit.lab.replay import Replay as Replay
    from matchbandit.lab.replay import propose as propose
    from matchbandit.lab.studies.charts import charts_of as charts_of
    from matchbandit.lab.studies.folder import StudyFolder as StudyFolder
    from matchbandit.lab.studies.study import Point as Point
    from matchbandit.lab.studies.study import Study as Study
    from matchbandit.lab.tables import Curve as Curve
    from matchbandit.lab.tables import RunTable as RunTable

_EXPORTS = {
    "paper.reproduce": ("Reproduction",),
    "playback": ("Frame", "Recorder", "Recording"),
    "replay": ("Difference", "ProposedPairs", "RankedPolicy", "Replay", "propose"),
    "studies.charts": ("charts_of",),
    "studies.folder": ("StudyFolder",),
    "studies.study": ("Point", "Study"),
    "tables": ("Curve", "RunTable"),
}
_MODULE_OF = {name: module for module, names in _EXPORTS.items() for name in names}

__all__ = [
    "Curve",
    "Difference",
    "Frame",
    "Point",
    "ProposedPairs",
    "RankedPolicy",
    "Recorder",
    "Recording",
    "Replay",
    "Reproduction",
    "RunTable",
    "Study",
    "StudyFolder",
    "charts_of",
    "propose",
]

if not TYPE_CHECKING:  # so that type checkers refuse a misspelt name

    def __getattr__(name: str) -> Any:
        if name in _MODULE_OF:
            return getattr(import_module(f"matchbandit.lab.{_MODULE_OF[name]}"), name)
        raise AttributeError(f"module 'matchbandit.lab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
