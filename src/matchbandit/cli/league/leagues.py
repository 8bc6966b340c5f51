"""`matchbandit league new`, `set`, `export`, `import`, `archive`, `restore` and `delete`: leagues as a whole."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from matchbandit.cli import parameters as common
from matchbandit.cli.league.output import MAX_WAITING, print_league
from matchbandit.cli.league.parameters import BY, LeagueName, SomeLeague, on_league, on_store, parse_names, with_options
from matchbandit.cli.league.replay import FILE_OPTIONS, read_past, refuse_without_file
from matchbandit.cli.output import Output
from matchbandit.cli.parameters import Distribution, argument, integer, optional, parsed_by
from matchbandit.errors import MatchbanditError
from matchbandit.formatting import parse_duration

if TYPE_CHECKING:
    from matchbandit.leagues import League, Store
    from matchbandit.leagues.records import Outcome


def _parse_deadline(text: str) -> float | str:
    return "none" if text.strip().lower() == "none" else parse_duration("--deadline", text)


def _parse_default(text: str) -> "Outcome":
    from matchbandit.leagues.records import VOID

    return VOID if text.strip().lower() == "void" else common.parse_float("--default", text, example="0, or void")


_SELECTION = common.choice("selection", get_args(common.SelectionName))
_DEADLINE, _DEFAULT = parsed_by(_parse_deadline, "DURATION"), parsed_by(_parse_default, "OUTCOME")
_NO_REMATCH, _DRAWS = integer("--no-rematch", minimum=0), integer("--record-propensity", minimum=0)
_SETTINGS: dict[str, Any] = {
    "policy": Annotated[str | None, optional("The policy; by default rank1-thompson.", common.POLICY_NAME)],
    "option": common.Option,
    "selection": Annotated[str | None, optional("Propose a matching, or one pair at a time.", _SELECTION)],
    "deadline": Annotated[object, optional("Time for outcomes: 90m, 12h, 3d, or none, the default.", _DEADLINE)],
    "default": Annotated[object, optional("Outcome at the deadline: a number, or void, the default.", _DEFAULT)],
    "no_rematch": Annotated[int | None, optional("Do not repeat a pair within so many proposals.", _NO_REMATCH)],
    "title": Annotated[str | None, optional("A title for people, besides the URL name.", metavar="TEXT")],
    "record_propensity": Annotated[int | None, optional("Draws for the recorded propensities; 0: off.", _DRAWS)],
}
"""The options of `new` and `set`."""

_SIDE_HELP = "Instead of players, twice: a side with its items, ads=spring,summer."
_PAST_HELP = "Start with the results in this CSV or Parquet file."
_REWARDS_HELP = "bernoulli (0 or 1, the default), gaussian:SD or binomial:TRIALS."


@partial(on_store, create=True)
@partial(with_options, name="changes", options=_SETTINGS)
@partial(with_options, name="reading", options=FILE_OPTIONS)
def new(
    store: "Store",
    league: LeagueName,
    players: Annotated[list[str] | None, argument("[NAME]...", "Names of the players.")] = None,
    side: Annotated[list[str] | None, optional(_SIDE_HELP, metavar="SIDE=NAMES")] = None,
    past: Annotated[Path | None, optional(_PAST_HELP, metavar="FILE")] = None,
    rewards: Annotated[Distribution | None, optional(_REWARDS_HELP, common.REWARD_DISTRIBUTION)] = None,
    seed: common.Seed = 0,
    *,
    reading: dict[str, Any],
    changes: dict[str, Any],
) -> Output:
    """Create a league of players, or of two sides.

    More items can join at any time.
    """
    sides = _parse_sides(side or [])
    if sides and players:
        raise MatchbanditError("give the players' names, or --side twice, not both.")
    items: dict[str, Any] = {"sides": sides} if sides else {"players": players} if players or past is None else {}
    if past is None:
        refuse_without_file("--past", reading)
    else:
        kind = "sides" if sides else "players" if players else None
        if kind is not None and reading.setdefault("kind", kind) != kind:
            raise MatchbanditError(f"--kind {reading['kind']} does not go with a league of {kind}. Leave it out.")
        items["past"] = results = read_past(past, reading)
        if results.kind == "sides" and not sides:
            items["sides"] = dict.fromkeys(results.sides or ("rows", "columns"), ())
    created = store.create(league, **items, rewards=rewards or "bernoulli", seed=seed, by=BY, **_values(changes))
    return league_output(created, f"Next: matchbandit league ask {league}")


@on_league
@partial(with_options, name="changes", options=_SETTINGS)
def set_(league: "League", *, changes: dict[str, Any]) -> Output:
    """Change the settings of a league, such as its policy.

    All results are kept. `--deadline none` removes the deadline.
    """
    if not changes:
        raise MatchbanditError("say what to set, such as --deadline 3d or --policy cucb; --help lists all.")
    league.configure(**_values(changes), by=BY)
    return league_output(league)


def _values(changes: dict[str, Any]) -> dict[str, Any]:
    """Return settings as the league takes them."""
    if "option" in changes:
        changes["options"] = common.merge_settings("--option", changes.pop("option"))
    return changes | ({"deadline": None} if changes.get("deadline") == "none" else {})


def league_output(league: "League", hint: str = "") -> Output:
    """Return the settings of a league, and the pairs whose outcome is missing."""
    info, open_proposals = league.info(), league.proposals(open_only=True, limit=MAX_WAITING).rows
    return Output(info, lambda: print_league(info, open_proposals, hint), warning=info.warning)


def _parse_sides(texts: list[str]) -> dict[str, list[str]]:
    """Parse the two sides with their items, from `ads=spring,summer` and `slots=top,left`."""
    parts = [text.partition("=") for text in texts]
    sides = {name.strip(): parse_names([items]) for name, _, items in parts}
    if texts and not (len(texts) == len(sides) == 2 and all(sides)):
        example = "--side ads=spring,summer --side slots=top"
        raise MatchbanditError(f"--side is given twice, for two sides, such as {example}; got {', '.join(texts)}.")
    return sides


@on_store
def export(
    store: "Store",
    league: SomeLeague = None,
    out: Annotated[Path | None, optional("The file, by default LEAGUE.jsonl.gz, or folder.", metavar="PATH")] = None,
    without_names: Annotated[bool, typer.Option("--without-names", help="Leave the names out.")] = False,
) -> Output:
    """Write a league into one file, or all leagues into a folder.

    For `import` elsewhere. A file name that ends in .gz is compressed.
    """
    if league is None:
        folder = out or Path()
        folder.mkdir(parents=True, exist_ok=True)
        infos = [info for status in ("active", "archived") for info in store.leagues(limit=None, status=status)]
        files = {info.slug: folder / f"{info.slug}.jsonl.gz" for info in infos}
    else:
        files = {league: out or Path(f"{league}.jsonl.gz")}
    for name, file in files.items():
        store.open(name).export(file, names=not without_names)
    data = {name: str(file) for name, file in files.items()}
    return Output(data, "\n".join(f"{name}: {file}" for name, file in data.items()))


@partial(on_store, create=True)
def import_(
    store: "Store",
    files: Annotated[list[Path], argument("FILE...", "Exported leagues.")],
    as_: Annotated[str | None, typer.Option("--as", metavar="NAME", help="Another name for it.")] = None,
) -> Output:
    """Import leagues that were exported.

    Numbers and the history stay the same.
    """
    if as_ is not None and len(files) > 1:
        raise MatchbanditError("--as names one league; import one file at a time with it.")
    names = [store.import_league(file, slug=as_).slug for file in files]
    return Output(names, "\n".join(f"{name}: from {file}" for name, file in zip(names, files, strict=True)))


@on_store
def archive(store: "Store", league: LeagueName) -> Output:
    """Make a league read-only.

    It is no longer listed, and its deadlines do not pass.
    """
    store.archive(league, by=BY)
    return _status_output(league, "archived")


@on_store
def restore(store: "Store", league: LeagueName) -> Output:
    """Make an archived or deleted league active again."""
    store.restore(league, by=BY)
    return _status_output(league, "active")


@on_store
def delete(
    store: "Store",
    league: LeagueName,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    now: Annotated[bool, typer.Option("--now", help="Erase it at once: it cannot be restored.")] = False,
) -> Output:
    """Delete a league.

    It is hidden at once, can be restored for 30 days, and is then erased.
    """
    if not yes and not sys.stdin.isatty():
        raise MatchbanditError(f"cannot ask whether to delete {league!r}: there is no terminal. Add --yes.")
    if not yes and not typer.confirm(f"{'Erase' if now else 'Delete'} the league {league!r}?", err=True):
        raise MatchbanditError(f"{league!r} was not deleted.")
    store.delete(league, now=now, by=BY)
    hint = f"; for 30 days it can be restored: matchbandit league restore {league}"
    return _status_output(league, "erased") if now else _status_output(league, "deleted", hint)


def _status_output(league: str, status: str, hint: str = "") -> Output:
    return Output({"slug": league, "status": status}, f"{league}: {status}{hint}")
