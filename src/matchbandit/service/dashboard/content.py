"""What pages show of a league, made from one `LeagueView` and ready for templates."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlencode

from matchbandit.formatting import float_text, grouped, plural
from matchbandit.live.events import proposal_number
from matchbandit.live.league_view import LeagueView
from matchbandit.live.records import Ids, Item, LeagueSummary, Names, PairResult, ProposalSummary
from matchbandit.live.store import Store
from matchbandit.live.views import Record
from matchbandit.live.views import proposal as proposal_of_record
from matchbandit.live.why import Why, why_proposal
from matchbandit.policies.catalogue import CATALOGUE
from matchbandit.rewards import Bernoulli, Binomial, Gaussian, RewardDistribution, parse_rewards
from matchbandit.service import tokens
from matchbandit.service.dashboard.html import digits, fixed
from matchbandit.service.problems import ApiError

if TYPE_CHECKING:
    from matchbandit.live.model import Standing
    from matchbandit.live.shadow import ShadowReport

PAGE_SIZE = 50
"""Rows of a list on one page: with the longest names a page stays below 300 kB."""
RECENT = 20
"""Proposals behind the figures at the top of a league."""
QUICK_FIT = 60
"""Items up to which the first page tests the model; with 200 it takes a second, on a page of its own."""
MAX_BYES = 20
"""Items that sit out which a page names."""
INTERVAL = "90 % interval"
STRENGTHS = "Two are expected to achieve the product of their strengths."

T = TypeVar("T")


# Lists ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pager:
    """Links to the pages beside this one, each a label and a query string; None: there is none."""

    back: tuple[str, str] | None = None
    forward: tuple[str, str] | None = None


def page_of(rows: Sequence[T], after: int, **query: str) -> tuple[Sequence[T], Pager]:
    """The rows after position `after` of a list in memory; `query` is kept in the links.

    >>> page_of(range(120), 50, search="a b")[1]
    Pager(back=('Previous', 'search=a+b'), forward=('Next', 'search=a+b&after=100'))
    """
    end = after + PAGE_SIZE
    back = None if after <= 0 else ("Previous", query_string(query, after=max(after - PAGE_SIZE, 0)))
    return rows[after:end], Pager(back, ("Next", query_string(query, after=end)) if end < len(rows) else None)


def items_page(items: Sequence[Item], after: int, **query: str) -> tuple[Sequence[Item], Pager]:
    """The items after the one with the id `after`, of a list in the order of ids."""
    ids = [item.id for item in items]
    start = bisect_right(ids, after)
    rows = items[start : start + PAGE_SIZE]
    before = start - PAGE_SIZE - 1
    back = None if start <= 0 else ("Previous", query_string(query, after=ids[before] if before >= 0 else 0))
    more = start + PAGE_SIZE < len(items)
    return rows, Pager(back, ("Next", query_string(query, after=rows[-1].id)) if more else None)


def newest_first(last: int, before: int | None) -> tuple[int, int, Pager]:
    """Of entries numbered from 1 to `last`: a page is those above `first` and below `end`."""
    end = min(last + 1, before or last + 1)
    first = max(end - 1 - PAGE_SIZE, 0)
    back = ("Newer", query_string({}, before=min(end + PAGE_SIZE, last + 1))) if end <= last else None
    return first, end, Pager(back, ("Older", query_string({}, before=first + 1)) if first > 0 else None)


def query_string(query: Mapping[str, str], **cursor: object) -> str:
    """The query of a link to another page; what is empty is left out."""
    return urlencode({name: value for name, value in {**query, **cursor}.items() if value})


def matching(rows: Sequence[T], search: str, *names: str) -> Sequence[T]:
    """The rows of which a name contains a text, whatever its case; `names` are the attributes that hold names."""
    text = search.casefold()
    if not text:
        return rows
    return [row for row in rows if any(text in str(getattr(row, name)).casefold() for name in names)]


# The league ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Heading:
    """A league above its pages and in the list of leagues."""

    summary: LeagueSummary
    deadline: str = ""

    @property
    def slug(self) -> str:
        """Its name in URLs."""
        return self.summary.name

    @property
    def title(self) -> str:
        """What people call it."""
        return self.summary.title or self.summary.name

    @property
    def sides(self) -> Sequence[str]:
        """The names of its two sides; none for players."""
        return self.summary.sides or ()

    @property
    def who(self) -> str:
        """How many take part."""
        names = self.summary.sides or ["players"]
        return " × ".join(f"{n} {name}" for n, name in zip(self.summary.active_by_side, names, strict=True))

    @property
    def rewards(self) -> str:
        """What an outcome is."""
        kind = parse_rewards(self.summary.rewards)
        if isinstance(kind, Bernoulli):
            return "success or failure"
        return f"shares of {kind.trials}" if isinstance(kind, Binomial) else "numbers"


def heading(view: LeagueView) -> Heading:
    """What stands above all pages of a league."""
    deadline = view.config.get("deadline")
    return Heading(view.summary, "" if deadline is None else f"outcomes due within {duration_text(deadline)}")


TIME_UNITS = (("day", 86_400.0), ("hour", 3_600.0), ("minute", 60.0), ("second", 1.0))


def duration_text(seconds: float) -> str:
    """A time exactly, in the largest unit in which it is a whole number.

    >>> duration_text(259200), duration_text(5400), duration_text(3600), duration_text(0.5)
    ('3 days', '90 minutes', '1 hour', '0.5 seconds')
    """
    unit, size = next((each for each in TIME_UNITS if seconds % each[1] == 0), TIME_UNITS[-1])
    number = float_text(seconds / size)
    return f"{number} {unit}{'' if number == '1' else 's'}"


@dataclass(frozen=True)
class Tile:
    """A number that one sees at a glance."""

    name: str
    value: str
    more: str = ""
    tone: str = ""


def tiles(view: LeagueView, recent: Sequence[ProposalSummary]) -> list[Tile]:
    """How the league goes: `recent` are its last proposals."""
    counts = view.summary
    results = sum(one.told - one.void for one in recent)
    reward = Tile("Reward per pair, recently", "–", "no results yet")
    if results:
        # Of the same results, so that the two can be compared.
        best = sum((one.told - one.void) * one.best / one.pairs for one in recent if one.best is not None and one.pairs)
        is_expected = all(one.best is not None for one in recent)
        more = (
            f"best guess {digits(best / results)}" if is_expected else f"of the last {plural(len(recent), 'proposal')}"
        )
        reward = Tile("Reward per pair, recently", digits(sum(one.reward for one in recent) / results), more)
    share = _mean([one.explored for one in recent if one.explored is not None])
    exploring = Tile("Given up to learn, recently", "–", "no proposals yet")
    if share is not None:
        exploring = Tile("Given up to learn, recently", f"{100 * share:.1f} %", "of what the best guess would bring")
    overview = [
        Tile("Pending outcomes", str(counts.n_waiting), plural(counts.n_open, "open proposal")),
        Tile("Results", grouped(counts.n_results), plural(counts.n_proposals, "proposal")),
        reward,
        exploring,
    ]
    if view.n_items <= QUICK_FIT:
        verdict = fit(view)
        overview.append(Tile("Model", verdict.verdict.capitalize(), verdict.short, verdict.tone))
    return overview


@dataclass(frozen=True)
class Verdict:
    """Does the model fit, in a word, in a sentence, and where not."""

    verdict: str
    tone: str
    words: str
    short: str
    worst: Sequence[Mapping[str, Any]] = ()


def fit(view: LeagueView) -> Verdict:
    """Does the model fit? With many items the test takes seconds."""
    test = view.model.fit()
    word, tone, short = {
        None: ("not known yet", "", "too few results to tell"),
        True: ("fits", "good", f"{test.results} results"),
        False: ("does not fit", "part", "see Progress for the pairs"),
    }[test.fits]
    worst = [{"ids": (a, b), "names": view.directory.pair((a, b)), "sd": residual} for a, b, residual in test.worst]
    return Verdict(word, tone, test.sentence, short, worst)


def shadow_rows(report: "ShadowReport") -> list[tuple[str, str]]:
    """What the shadow would have done, beside the sentence."""
    return [
        ("Proposals compared", str(report.proposals)),
        ("Equal", str(report.equal)),
        ("Pairs in common", f"{report.common} of {report.pairs}"),
        (f"Expected of a proposal of {report.live}", digits(report.live_expects)),
        (f"Expected of one of {report.shadow}", digits(report.shadow_expects)),
    ]


# Proposals -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rules:
    """What an outcome may be."""

    binary: bool
    least: float | None
    most: float | None
    placeholder: str


def rules(kind: RewardDistribution) -> Rules:
    """What an outcome may be, by the reward distribution."""
    if isinstance(kind, Gaussian):
        return Rules(False, None, None, "0.5")
    shares = f"0, {1 / kind.trials:.3g}, … 1" if isinstance(kind, Binomial) and kind.trials > 1 else None
    return Rules(isinstance(kind, Bernoulli), kind.low, kind.high, shares or f"{kind.low:g} to {kind.high:g}")


@dataclass(frozen=True)
class Pair:
    """A pair of a proposal."""

    ids: Ids
    names: Names
    outcome: float | str | None
    """A reward, "void", or None while it is missing."""
    estimate: float | None
    value: float | None
    """What the policy chose it by."""
    reason: str

    @property
    def key(self) -> str:
        """How fields name it."""
        return f"{self.ids[0]}-{self.ids[1]}"

    @property
    def typed(self) -> str:
        """Its outcome as one types it."""
        return float_text(self.outcome) if isinstance(self.outcome, float | int) else self.outcome or ""

    @property
    def both(self) -> str:
        """What a search looks at."""
        return " + ".join(self.names)


@dataclass(frozen=True)
class ProposalView:
    """A proposal, and why it has these pairs."""

    number: int
    at: str
    due: str | None
    pairs: Sequence[Pair]
    byes: Sequence[Item]
    more_byes: int
    notes: Sequence[str]
    why: Why

    @property
    def known(self) -> int:
        """How many outcomes are known."""
        return sum(pair.outcome is not None for pair in self.pairs)

    @property
    def waiting(self) -> int:
        """How many are missing."""
        return len(self.pairs) - self.known

    def pending_first(self, limit: int) -> Sequence[Pair]:
        """At most `limit` pairs, in their order; of more, those whose outcome is missing."""
        if len(self.pairs) <= limit:
            return self.pairs
        return [pair for pair in self.pairs if pair.outcome is None][:limit]


def proposal_view(view: LeagueView, record: Record) -> ProposalView:
    """A proposal for the page."""
    why = why_proposal(record, view.directory, view.rewards)
    pairs = [
        Pair(tuple(row["pair"]), tuple(row["names"]), row["outcome"], row["estimate"], row["value"], row["reason"])
        for row in why.numbers["pairs"]
    ]
    proposal = proposal_of_record(record, view.directory)
    byes = [view.item(item) for item in proposal.bye_ids[:MAX_BYES]]
    more_byes = len(proposal.bye_ids) - len(byes)
    return ProposalView(
        proposal.number, proposal.at, proposal.due, pairs, byes, more_byes, proposal.notes[:MAX_BYES], why
    )


def proposal_numbers(numbers: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What was expected of a proposal, beside the sentence."""
    bound = [] if numbers["exact"] else [("At most possible without rules", digits(numbers["bound"]))]
    return [
        ("Expected of these pairs", fixed(numbers["expected"])),
        ("Expected of the best guess", fixed(numbers["best"])),
        ("Given up to learn", fixed(numbers["cost_of_exploring"])),
        *bound,
    ]


def proposal_row(one: ProposalSummary) -> dict[str, Any]:
    """A line of the list of proposals, its numbers per pair."""
    return {
        "number": one.number,
        "at": one.at,
        "pairs": one.pairs,
        "waiting": one.pairs - one.told,
        "void": one.void,
        "reward": _each(one.reward, one.told - one.void),
        "expected": _each(one.expected, one.pairs),
        "best": _each(one.best, one.pairs),
    }


# Items ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Side:
    """The ranking of one side, or of all players."""

    name: str
    rows: Sequence["Standing"]


def ranking(view: LeagueView) -> list[Side]:
    """The ranking, each side for itself; sides without items are left out."""
    rows = view.ranking()
    sides: Sequence[str | None] = view.config["sides"] or (None,)
    by_side = [Side(side or "", [row for row in rows if row.side == side]) for side in sides]
    return [side for side in by_side if side.rows]


def item(view: LeagueView, number: int) -> Item:
    """An item by its id; an id that no item has is not found, rather than wrong."""
    if not 1 <= number <= view.n_items:
        raise ApiError("not-found", f"no item has the id {number}.")
    return view.item(number)


def item_numbers(numbers: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What is known of an item, beside the sentence."""
    place = "–" if numbers["place"] is None else f"{numbers['place']} of {numbers['of']}"
    return [
        ("Rank", place),
        ("Strength", fixed(numbers["estimate"])),
        (INTERVAL, f"{fixed(numbers['low'])} to {fixed(numbers['high'])}"),
        ("Results", str(numbers["meetings"])),
        ("Average reward", digits(numbers["mean"])),
        ("Times it sat out", str(numbers["byes"])),
    ]


@dataclass(frozen=True)
class Partner:
    """Another item that an item met."""

    id: int
    name: str
    meetings: int
    mean: float


def partners(results: Sequence[PairResult], number: int) -> list[Partner]:
    """The results of an item, by partner."""
    others = [(row, 1 if row.ids[0] == number else 0) for row in results]
    return [Partner(row.ids[at], row.names[at], row.count, row.mean) for row, at in others]


def rule_rows(
    view: LeagueView, *, after: Ids = (0, 0), limit: int | None = None, wishes: bool = True
) -> list[dict[str, Any]]:
    """Wishes and exclusions, each with the way to undo it; exclusions from the one after `after`."""
    kinds = (
        (view.wish_ids()[:limit] if wishes else [], "paired in the next proposal", "unwish"),
        (view.exclusion_ids(after=after, limit=limit), "never paired", "allow"),
    )
    return [
        {"rule": words, "ids": ids, "names": view.directory.pair(ids), "undo": undo}
        for pairs, words, undo in kinds
        for ids in pairs
    ]


def policies(current: str = "") -> list[tuple[str, str]]:
    """Policies that forms offer: those that can pair whoever is there, and the current one."""
    return [
        (name, f"{name}: {kind.summary}")
        for name, kind in CATALOGUE.items()
        if kind.decides_from_counts or name == current
    ]


# The log -------------------------------------------------------------------------------------------------------------


def token_labels(store: Store) -> dict[str, str]:
    """What those who wrote through a token are called, by its id."""
    return {token.id: token.label for token in tokens.list_all(store)}


def log_lines(
    view: LeagueView, labels: Mapping[str, str], *, after: int = 0, limit: int | None = None
) -> list[dict[str, Any]]:
    """What happened, in sentences; `labels` are those of tokens, by id."""
    sources = {"python": "program", "clock": "deadline"} | {f"token:{id}": label for id, label in labels.items()}
    return [
        {
            "seq": event.seq,
            "at": event.at,
            "by": sources.get(event.by, event.by),
            "proposal": proposal_number(event.kind, event.data),
            "sentence": sentence,
        }
        for event, sentence in view.sentences(view.events(after=after, limit=limit))
    ]


def _each(total: float | None, pairs: int) -> float | None:
    return None if total is None or not pairs else total / pairs


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
