"""Load the compiled code of a typical league, so that the first request does not wait for it."""

from threading import Lock

from matchbandit.live import commands
from matchbandit.live.deciding import Decider
from matchbandit.live.events import Draft, Event
from matchbandit.live.model import LeagueModel
from matchbandit.live.names import Directory
from matchbandit.live.state import State
from matchbandit.strengths import DENSE_BELOW

_NOW = "2000-01-01T00:00:00.000000Z"
_SIZES = (4, DENSE_BELOW)
"""Few items use a dense factorization, many use conjugate gradients: different code."""
_lock = Lock()
_is_loaded = False


def is_loaded() -> bool:
    """Has `load_compiled_code` finished in this process?"""
    return _is_loaded


def load_compiled_code() -> None:
    """Ask, tell and rank once with rank1-thompson; compiles what is not cached yet."""
    global _is_loaded  # noqa: PLW0603  # compiled code belongs to the process
    with _lock:
        if not _is_loaded:
            for size in _SIZES:
                _play_once(size)
            _is_loaded = True


def _play_once(size: int) -> None:
    state, decider, directory = State(), Decider(), Directory()
    names = [f"player {k}" for k in range(size)]

    def apply(drafts: list[Draft]) -> None:
        for draft in drafts:
            state.apply(Event(state.seq + 1, _NOW, draft.kind, draft.data))
            directory.write(draft.names, state.sides_by_item)

    apply(commands.create("warm-up", players=names, seed=0))
    apply([decider.decide(decider.prepare(state, directory, _NOW))])
    outcomes = [(a, b, 1.0) for a, b in state.open[1].ids]
    apply(commands.tell(state, directory, 1, outcomes)[0])
    apply([decider.decide(decider.prepare(state, directory, _NOW))])
    LeagueModel(state).ranking(names, None)
