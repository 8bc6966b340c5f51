"""The methods that a league has wherever it is: `League` in this process, `RemoteLeague` behind a service."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from matchbandit.live.commands import Name
from matchbandit.live.events import Event
from matchbandit.live.model import Fit, Standing
from matchbandit.live.records import Item, Meetings, Outcome, Proposal, ProposalSummary, Receipt
from matchbandit.live.shadow import ShadowReport
from matchbandit.live.why import Why

Pair = tuple[Name, Name]
Outcomes = Mapping[tuple[str, str], Outcome] | Mapping[tuple[int, int], Outcome] | Iterable[tuple[Name, Name, Outcome]]
"""By pair, of names or of ids; or as rows."""


class LeagueApi(Protocol):
    """A league. Items are given by name or by id; every method that writes takes an idempotency key."""

    @property
    def name(self) -> str:
        """The URL name."""
        ...

    def ask(
        self,
        *,
        available: Iterable[Name] | None = None,
        fixed: Iterable[Pair] | None = None,
        key: str | None = None,
    ) -> Proposal:
        """Pairs to be played now, of those who are available, under a new number."""
        ...

    def tell(self, number: int, outcomes: Outcomes, *, key: str | None = None) -> Receipt:
        """Outcomes of some or all pairs of a proposal."""
        ...

    def tell_many(self, outcomes: Mapping[int, Outcomes], *, key: str | None = None) -> list[Receipt]:
        """Outcomes of several proposals: all are recorded, or none."""
        ...

    def correct(self, number: int, outcomes: Outcomes, *, key: str | None = None) -> Receipt:
        """Replace recorded outcomes."""
        ...

    def void(self, number: int, pairs: Iterable[Pair] | None = None, *, key: str | None = None) -> Receipt:
        """Pairs of a proposal that never met."""
        ...

    def proposal(self, number: int) -> Proposal:
        """One proposal with its outcomes."""
        ...

    def open_proposals(self) -> list[Proposal]:
        """Those with an outcome missing."""
        ...

    def proposals(self, after: int = 0, limit: int | None = None) -> list[Proposal]:
        """Those that follow number `after`."""
        ...

    def items(self) -> list[Item]:
        """All items that ever joined."""
        ...

    def item(self, name: Name, *, side: str | None = None) -> Item:
        """One item."""
        ...

    def join(self, *names: str, side: str | None = None, key: str | None = None) -> list[Item]:
        """Add items, or let those that left rejoin."""
        ...

    def leave(self, *names: Name, side: str | None = None, key: str | None = None) -> list[Item]:
        """Items leave; their results stay."""
        ...

    def rejoin(self, *names: Name, side: str | None = None, key: str | None = None) -> list[Item]:
        """Let items that left rejoin."""
        ...

    def rename(self, old: Name, new: str, *, side: str | None = None, key: str | None = None) -> Item:
        """An item gets another name."""
        ...

    def forget(self, name: Name, *, side: str | None = None, key: str | None = None) -> Item:
        """Erase a name for good."""
        ...

    def exclude(self, pairs: Iterable[Pair], *, key: str | None = None) -> None:
        """Never propose these pairs."""
        ...

    def allow(self, pairs: Iterable[Pair], *, key: str | None = None) -> None:
        """Remove exclusions."""
        ...

    def wish(self, pairs: Iterable[Pair], *, key: str | None = None) -> None:
        """Propose these pairs as soon as both are available."""
        ...

    def unwish(self, pairs: Iterable[Pair], *, key: str | None = None) -> None:
        """Remove wishes."""
        ...

    def configure(self, *, key: str | None = None, **changes: Any) -> dict[str, Any]:
        """Change settings."""
        ...

    def about(self) -> dict[str, Any]:
        """Settings and counts."""
        ...

    def ranking(self) -> list[Standing]:
        """The strongest first, each side for itself."""
        ...

    def why(
        self, what: str | Sequence[Name] | int | None = None, *, item: Name | None = None, side: str | None = None
    ) -> Why:
        """An explanation of an item, a pair, a proposal or the league."""
        ...

    def fit(self) -> Fit:
        """Do the results fit a product of strengths?"""
        ...

    def shadow_report(self) -> ShadowReport:
        """The shadow policy, compared."""
        ...

    def history(self, after: int = 0, limit: int | None = None) -> list[ProposalSummary]:
        """A line for each proposal."""
        ...

    def meetings(self, *, most: int = 200) -> Meetings:
        """Who met whom, as a table of ids."""
        ...

    def results(self) -> list[tuple[str, str, int, float]]:
        """All results, as (name, name, count, total)."""
        ...

    def events(self, after: int = 0, limit: int | None = None) -> list[Event]:
        """The log."""
        ...

    def export(self, path: str | os.PathLike[str], *, names: bool = True) -> Path:
        """Write the league into one file."""
        ...
