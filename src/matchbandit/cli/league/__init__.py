"""`matchbandit league …`: leagues without a server."""

from collections.abc import Callable

from matchbandit.cli.league.items import join, leave, rename, rule
from matchbandit.cli.league.leagues import archive, delete, export, import_, new, restore, set_
from matchbandit.cli.league.proposals import ask, tell
from matchbandit.cli.league.replay import replay
from matchbandit.cli.league.show import list_, ranking, show, why

_QUESTIONS = (new, list_, show, ask, tell, why, ranking)
_CHANGES = (join, leave, rename, rule, set_, replay, export, import_, archive, restore, delete)
VERBS: dict[str, Callable[..., None]] = {verb.__name__.rstrip("_"): verb for verb in (*_QUESTIONS, *_CHANGES)}
"""In the order of --help."""
