"""`matchbandit league …`: leagues without a server."""

from collections.abc import Callable

from matchbandit.cli.league.maintenance import archive, backup, delete, export, import_, restore, verify
from matchbandit.cli.league.proposals import ask, correct, tell, void
from matchbandit.cli.league.replay import replay
from matchbandit.cli.league.roster import allow, exclude, forget, join, leave, rename, unwish, wish
from matchbandit.cli.league.settings import new, set_
from matchbandit.cli.league.views import events, fit, history, list_, meetings, ranking, shadow, show, why

VERBS: dict[str, Callable[..., None]] = {
    "new": new,
    "ask": ask,
    "tell": tell,
    "correct": correct,
    "void": void,
    "list": list_,
    "show": show,
    "ranking": ranking,
    "why": why,
    "fit": fit,
    "history": history,
    "meetings": meetings,
    "events": events,
    "join": join,
    "leave": leave,
    "rename": rename,
    "forget": forget,
    "exclude": exclude,
    "allow": allow,
    "wish": wish,
    "unwish": unwish,
    "set": set_,
    "shadow": shadow,
    "replay": replay,
    "verify": verify,
    "export": export,
    "import": import_,
    "backup": backup,
    "archive": archive,
    "restore": restore,
    "delete": delete,
}
"""In the order of --help."""
