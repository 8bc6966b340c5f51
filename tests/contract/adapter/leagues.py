"""What the contract calls of leagues: one script of requests after the other, in a store of its own."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from clocks import Clock

from contract import inputs
from matchbandit.leagues import VOID, League, LeagueError, Store

Step = dict[str, Any]
SLUG = "contract"
MEMORY = "/dev/shm"
"""Where Linux keeps files in memory: a store there is on disk at once, and these cases are not about disks."""


def league(
    *,
    settings: dict[str, Any],
    rewards: str,
    seed: int,
    steps: list[Step],
    players: list[str] | None = None,
    sides: list[list[Any]] | None = None,
    past: list[list[Any]] | None = None,
    database: Callable[[], str] | None = None,
    imports: bool = False,
) -> dict[str, Any]:
    """Every answer or error code of a league to a script, and what the league holds at the end.

    `database` makes the URL of an empty store, by default of SQLite. With `imports`, the script goes on after its step
    "export" with the imported league, in another store.
    """
    clock = Clock()
    with ExitStack() as stack:
        store = stack.enter_context(_store(clock, database))
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        new_league = store.create(
            SLUG,
            players=players,
            sides=None if sides is None else {side: names for side, names in sides},
            rewards=rewards,
            seed=seed,
            past=None if past is None else [tuple(row) for row in past],
            **_settings(settings),
        )
        script = _Script(store, new_league, clock)
        answers = []
        for step in steps:
            if step["do"] == "export":
                file = script.league.export(Path(folder) / "league.gz")
                if imports:
                    script.store = stack.enter_context(_store(clock, database))
                    script.league = script.store.import_league(file)
            answers.append(script.answer(step))
        return {"steps": answers, "end": _contents(script.league)}


def league_creation(*, requests: list[Step]) -> list[Any]:
    """The answer or error code to each request that makes, imports or opens leagues of one store."""
    clock = Clock()
    with _store(clock, None) as store, tempfile.TemporaryDirectory() as folder:
        return [_or_code(_STORE_REQUESTS[request["do"]], store, Path(folder), request) for request in requests]


class _Script:
    """The requests of a script to a league."""

    def __init__(self, store: Store, new_league: League, clock: Clock) -> None:
        self.store, self.league, self.clock = store, new_league, clock
        self.proposals: list[Any] = []
        """The proposal of each ask; None where it was refused."""

    def answer(self, step: Step) -> Any:
        """What a step answers, or the code of its error."""
        if step["do"] == "ask":
            self.proposals.append(None)
        if "ask" in step and self.proposals[step["ask"]] is None:
            return "no proposal"
        return _or_code(getattr(self, f"_{step['do'].replace(' ', '_')}"), step)

    def _number(self, step: Step) -> int:
        return int(step["number"] if "number" in step else self.proposals[step["ask"]].number)

    def _pairs(self, step: Step) -> list[Any]:
        """The pairs of a proposal, as names or as ids; none of an unknown one."""
        if "number" in step:
            return [tuple(pair) for pair in step["pairs"]]
        if step["by"] == "ids":
            return [pair.ids for pair in self.proposals[step["ask"]].pairs]
        return [pair.names for pair in self.league.proposal(self._number(step)).pairs]

    def _outcomes(self, step: Step) -> dict[Any, Any]:
        """Outcomes by the position of the pair in its proposal; those beyond its last pair are left out."""
        pairs = self._pairs(step)
        by_name = {tuple(pair): _outcome(value) for *pair, value in step.get("others", ())}
        return {pairs[at]: _outcome(value) for at, value in step["outcomes"] if at < len(pairs)} | by_name

    def _ask(self, step: Step) -> Any:
        pairs = step.get("fixed")
        proposal = self.league.ask(
            available=step.get("available"),
            fixed=None if pairs is None else [tuple(pair) for pair in pairs],
            key=step.get("key"),
        )
        self.proposals[-1] = proposal
        answer = {
            "number": proposal.number,
            "pairs": [pair.names for pair in proposal.pairs],
            "byes": proposal.byes,
            "due": proposal.due,
            "expected": proposal.expected,
            "best": proposal.best,
        }
        if any(pair.fixed for pair in proposal.pairs):
            answer["fixed"] = [pair.names for pair in proposal.pairs if pair.fixed]
        if proposal.propensity_draws:
            answer["propensities"] = [pair.propensity for pair in proposal.pairs]
        return answer

    def _tell(self, step: Step) -> Any:
        return _receipt(self.league.tell(self._number(step), self._outcomes(step), key=step.get("key")))

    def _tell_many(self, step: Step) -> Any:
        outcomes = {self._number(part): self._outcomes(part) for part in step["parts"] if self.proposals[part["ask"]]}
        return [_receipt(receipt) for receipt in self.league.tell_many(outcomes)]

    def _correct(self, step: Step) -> Any:
        return _receipt(self.league.correct(self._number(step), self._outcomes(step), key=step.get("key")))

    def _void(self, step: Step) -> Any:
        pairs = self._pairs(step)
        some_pairs = None if step["at"] is None else [pairs[at] for at in step["at"] if at < len(pairs)]
        return _receipt(self.league.void(self._number(step), some_pairs))

    def _proposal(self, step: Step) -> Any:
        proposal = self.league.proposal(self._number(step))
        return [[*pair.names, _text(pair.outcome)] for pair in proposal.pairs]

    def _join(self, step: Step) -> Any:
        return [_item(item) for item in self.league.join(*step["names"], side=step.get("side"))]

    def _leave(self, step: Step) -> Any:
        return [_item(item) for item in self.league.leave(*step["names"], side=step.get("side"))]

    def _rejoin(self, step: Step) -> Any:
        return [_item(item) for item in self.league.rejoin(*step["names"], side=step.get("side"))]

    def _rename(self, step: Step) -> Any:
        return _item(self.league.rename(step["old"], step["new"], side=step.get("side")))

    def _erase_name(self, step: Step) -> Any:
        return _item(self.league.erase_name(step["name"], side=step.get("side")))

    def _exclude(self, step: Step) -> Any:
        self.league.exclude([tuple(pair) for pair in step["pairs"]])

    def _unexclude(self, step: Step) -> Any:
        self.league.unexclude([tuple(pair) for pair in step["pairs"]])

    def _pin(self, step: Step) -> Any:
        self.league.pin([tuple(pair) for pair in step["pairs"]])

    def _unpin(self, step: Step) -> Any:
        self.league.unpin([tuple(pair) for pair in step["pairs"]])

    def _configure(self, step: Step) -> Any:
        settings = self.league.configure(**_settings(step["settings"])).settings
        return {name: settings[name] for name in step["settings"]}

    def _wait(self, step: Step) -> Any:
        self.clock.forward(seconds=step["seconds"])

    def _export(self, step: Step) -> Any:
        return _contents(self.league)

    def _archive(self, step: Step) -> Any:
        self.store.archive(SLUG)

    def _restore(self, step: Step) -> Any:
        self.store.restore(SLUG)


def _contents(current: League) -> dict[str, Any]:
    """What a league holds."""
    return {
        "items": [_item(item) for item in current.items()],
        "ranking": [
            {
                "rank": row.rank,
                "name": row.name,
                "side": row.side,
                "estimate": row.estimate,
                "low": row.low,
                "high": row.high,
                "results": row.results,
                "mean": row.mean,
                "byes": row.byes,
            }
            for row in current.ranking()
        ],
        "results": [[*row.names, row.count, row.total] for row in current.results(limit=10**6)],
        "history": [
            [row.number, row.pairs, row.void, row.reward, row.expected_so_far, row.expected, row.best]
            for row in current.summaries()
        ],
        "open": [proposal.number for proposal in current.proposals(open_only=True, limit=1000)],
        "exclusions": [rule.names for rule in current.rules("exclude")],
        "pins": [rule.names for rule in current.rules("pin")],
    }


def _settings(settings: dict[str, Any]) -> dict[str, Any]:
    return settings | ({"default": _outcome(settings["default"])} if "default" in settings else {})


def _outcome(value: Any) -> Any:
    return VOID if value == "void" else value


def _text(value: Any) -> Any:
    return "void" if value is VOID else value


def _receipt(receipt: Any) -> list[int]:
    """Number of the proposal, new and repeated outcomes, pairs still without one."""
    return [receipt.proposal, receipt.recorded, receipt.repeated, receipt.waiting]


def _item(item: Any) -> list[Any]:
    return [item.id, item.name, item.side, item.active, item.erased, item.byes]


def _or_code(call: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except LeagueError as error:
        return {"error": error.code}


@contextmanager
def _store(clock: Clock, database: Callable[[], str] | None) -> Iterator[Store]:
    with tempfile.TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else None) as folder:
        store = Store(f"sqlite:///{folder}/leagues.db" if database is None else database(), clock=clock)
        try:
            yield store
        finally:
            store.close()


def _create(store: Store, folder: Path, request: Step) -> Any:
    sides = request.get("sides")
    two_sides = {} if sides is None else {"sides": {side: names for side, names in sides}}
    past = {} if "past" not in request else {"past": [tuple(row) for row in request["past"]]}
    new_league = store.create(
        request["slug"],
        rewards=request["rewards"],
        seed=request["seed"],
        key=request.get("key"),
        **two_sides,
        **past,
        **({"players": request["players"]} if "players" in request else {}),
        **_settings(request["settings"]),
    )
    return [_item(item) for item in new_league.items()]


def _open(store: Store, folder: Path, request: Step) -> Any:
    return store.open(request["slug"]).slug


def _list(store: Store, folder: Path, request: Step) -> Any:
    return [info.slug for info in store.leagues()]


def _export(store: Store, folder: Path, request: Step) -> Any:
    return store.open(request["slug"]).export(folder / request["file"]).name


def _import(store: Store, folder: Path, request: Step) -> Any:
    return store.import_league(folder / request["file"], slug=request["slug"]).slug


def _write(store: Store, folder: Path, request: Step) -> Any:
    (folder / request["file"]).write_text(request["text"], encoding="utf-8")
    return None


def _delete(store: Store, folder: Path, request: Step) -> Any:
    store.delete(request["slug"], now=request["now"])


def _restore(store: Store, folder: Path, request: Step) -> Any:
    store.restore(request["slug"])


def _exclude(store: Store, folder: Path, request: Step) -> Any:
    store.open(request["slug"]).exclude(inputs.name_pairs(request["players"], *request["pairs"]))


def _archive(store: Store, folder: Path, request: Step) -> Any:
    store.archive(request["slug"])


_STORE_REQUESTS = {
    "create": _create,
    "open": _open,
    "list": _list,
    "export": _export,
    "import": _import,
    "write": _write,
    "delete": _delete,
    "restore": _restore,
    "archive": _archive,
    "exclude": _exclude,
}

KINDS: dict[str, Any] = {"league": league, "league creation": league_creation}
