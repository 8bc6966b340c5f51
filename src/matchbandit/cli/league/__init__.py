"""`matchbandit league …`: leagues for people without a server; a file for each group of verbs."""

from collections.abc import Callable

from matchbandit.cli.league.keeping import backup, export, import_, verify
from matchbandit.cli.league.lifecycle import archive, delete, restore
from matchbandit.cli.league.playing import ask, correct, tell, void
from matchbandit.cli.league.reading import events, fit, history, list_, meetings, ranking, shadow, show, why
from matchbandit.cli.league.replay import replay
from matchbandit.cli.league.roster import allow, exclude, forget, join, leave, rename, unwish, wish
from matchbandit.cli.league.settings import new, set_

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
