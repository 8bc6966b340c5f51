"""Verify a league: replay its log, decide every proposal again, and compare.

Decisions are reproducible within one version of matchbandit only; recorded proposals stay valid whatever a newer
version would decide.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from matchbandit.formatting import plural
from matchbandit.live import log, projection, snapshots
from matchbandit.live.deciding import Decider
from matchbandit.live.errors import LeagueError
from matchbandit.live.events import Event, this_version
from matchbandit.live.names import Directory
from matchbandit.live.state import State


@dataclass(frozen=True)
class Verification:
    """The result of a verification."""

    events: int
    """Events replayed."""
    proposals: int
    """Proposals decided again."""
    snapshots: int
    """Snapshots compared with the replayed state."""
    differences: tuple[str, ...]
    """Deviations from the log, one sentence each; at most ten."""
    other_versions: int
    """Proposals of another version of matchbandit that this one would decide differently; not an error."""

    @property
    def ok(self) -> bool:
        """Does everything agree with the log?"""
        return not self.differences

    @property
    def sentence(self) -> str:
        """A summary."""
        events, proposals = plural(self.events, "event"), plural(self.proposals, "proposal")
        checked = f"{events} folded from nothing, and {proposals} decided again"
        other = ""
        if self.other_versions:
            other = f" {self.other_versions} were recorded by other versions of matchbandit and would differ now."
        if self.ok:
            return f"All is as the log says: {checked}.{other}"
        return f"Not all is as the log says. {self.differences[0]} ({checked}.){other}"


_MAX_DIFFERENCES = 10


class _Check:
    """A verification in progress."""

    def __init__(self, connection: Connection, league: int, *, decides: bool) -> None:
        self.connection, self.league, self.decides = connection, league, decides
        self.state, self.decider = State(), Decider()
        self.rows: dict[int, dict[str, Any]] = {}
        self.stored = snapshots.read_all(connection, league)
        self.differences: list[str] = []
        self.proposals = self.other_versions = self.snapshots = 0

    def run(self, progress: Callable[[int], None]) -> None:
        pending = log.proposed(self.connection, self.league) if self.decides else iter(())
        upcoming = next(pending, None)
        self._compare_decision(upcoming)
        for event in projection.fold_rows(log.read(self.connection, self.league), self.rows):
            self.state.apply(event)
            if event.kind == "proposed":
                upcoming = next(pending, None)
            self._compare_decision(upcoming)
            if event.seq in self.stored:
                self._compare_snapshot(event.seq)
            progress(event.seq)
        table = {row["number"]: row for row in projection.read_page(self.connection, self.league)}
        for number in sorted(table.keys() | self.rows.keys()):
            if not _is_equal(table.get(number), self.rows.get(number)):
                self.add_difference(f"The table of proposals is wrong about proposal {number}.")

    def _compare_decision(self, event: Event | None) -> None:
        """Decide a proposal again if the state is the one it was decided from."""
        if event is None or event.data["decided_at"] != self.state.seq:
            return
        self.proposals += 1
        recorded = event.data
        try:
            inputs = self.decider.prepare(
                self.state,
                Directory.of(self.state.config["sides"], self.state.sides_by_item, []),
                event.at,
                available=recorded["available"],
                fixed=[(a, b) for a, b in recorded["fixed"]] or None,
            )
            decided = self.decider.decide(inputs).data
            same = decided["pairs"] == recorded["pairs"] and decided["byes"] == recorded["byes"]
        except LeagueError:
            same = False
        if not same and recorded.get("matchbandit") != this_version():
            self.other_versions += 1
        elif not same:
            self.add_difference(f"Proposal {recorded['number']} would be decided otherwise now.")

    def _compare_snapshot(self, seq: int) -> None:
        self.snapshots += 1
        snapshot = snapshots.decode(*self.stored[seq])
        if snapshot is None or snapshot.digest() != self.state.digest():
            self.add_difference(f"The snapshot at event {seq} is not the state there. It can be deleted.")

    def add_difference(self, sentence: str) -> None:
        if len(self.differences) < _MAX_DIFFERENCES:
            self.differences.append(sentence)


def _is_equal(stored: dict[str, Any] | None, folded: dict[str, Any] | None) -> bool:
    """Does a row of the proposals table agree with the log?"""
    if stored is None or folded is None:
        return False
    return all(stored[name] == value for name, value in folded.items())


def verify_league(
    connection: Connection,
    league: int,
    live: tuple[int, str],
    progress: Callable[[int], None],
    *,
    decides: bool = True,
) -> Verification:
    """Verify a league; `live` is the event number and digest of the state of this process."""
    check = _Check(connection, league, decides=decides)

    def step(seq: int) -> None:
        if seq == live[0] and check.state.digest() != live[1]:
            check.add_difference(f"The state of this process differs from the fold at event {seq}. Start it again.")
        progress(seq)

    return _run(check, step)


def verify_log(connection: Connection, league: int) -> tuple[Verification, State]:
    """Replay the log of a league, deleted or not, and compare it with its tables and snapshots, without deciding."""
    check = _Check(connection, league, decides=False)
    return _run(check, lambda seq: None), check.state


def _run(check: _Check, progress: Callable[[int], None]) -> Verification:
    try:
        check.run(progress)
    except LeagueError as error:
        check.add_difference(str(error))
    return Verification(
        events=check.state.seq,
        proposals=check.proposals,
        snapshots=check.snapshots,
        differences=tuple(check.differences),
        other_versions=check.other_versions,
    )
