"""What pages show of a league: its records, made ready for templates. Everything that is read goes through here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matchbandit.errors import float_text, plural
from matchbandit.live.errors import LeagueError
from matchbandit.live.events import proposal_of
from matchbandit.live.records import VOID, Ids, Item, Names, Outcome, Proposal
from matchbandit.policies.catalogue import CATALOGUE
from matchbandit.rewards import Bernoulli, Binomial, Gaussian, parse_rewards
from matchbandit.service import tokens
from matchbandit.service.dashboard.html import digits, fixed
from matchbandit.service.dashboard.meetings import Map, Met, Place, drawn
from matchbandit.service.dashboard.progress import Past
from matchbandit.service.problems import ApiError

if TYPE_CHECKING:
    from matchbandit.live.league import League
    from matchbandit.live.model import Standing
    from matchbandit.live.why import Why

RECENT = 20
"""Proposals that the figures at the top of a league look at."""
QUICK_FIT = 60
"""Items up to which the fit of the model is tested for the first page; that of 200 takes a second, on its own page."""
ABOUT_NINETY = "90 % interval"


@dataclass(frozen=True)
class Heading:
    """What stands above all pages of a league."""

    slug: str
    who: str
    policy: str
    rewards: str
    deadline: str
    sides: tuple[str, ...]
    waiting: int
    """Outcomes that are not known yet."""
    proposals: int
    results: int
    shadow: str | None


@dataclass(frozen=True)
class Rules:
    """What an outcome may be."""

    binary: bool
    least: float | None
    most: float | None
    placeholder: str


@dataclass(frozen=True)
class Pair:
    """A pair of a proposal."""

    ids: Ids
    names: Names
    outcome: float | str | None
    """A reward, "void", or None while it waits."""
    estimate: float | None = None
    fixed: bool = False

    @property
    def key(self) -> str:
        """How fields name it."""
        return f"{self.ids[0]}-{self.ids[1]}"

    @property
    def typed(self) -> str:
        """Its outcome as one types it."""
        return float_text(self.outcome) if isinstance(self.outcome, float | int) else self.outcome or ""


@dataclass(frozen=True)
class ProposalView:
    """A proposal with what is known of it."""

    number: int
    at: str
    due: str | None
    pairs: Sequence[Pair]
    byes: Sequence[Place]
    notes: Sequence[str]

    @property
    def known(self) -> int:
        """How many outcomes are known."""
        return sum(pair.outcome is not None for pair in self.pairs)

    @property
    def waiting(self) -> int:
        """How many are not."""
        return len(self.pairs) - self.known


@dataclass(frozen=True)
class Side:
    """The ranking of one side, or of all players."""

    name: str
    words: str
    interval: str
    rows: Sequence["Standing"]


@dataclass(frozen=True)
class Tile:
    """A number that one sees at a glance."""

    name: str
    value: str
    more: str = ""
    tone: str = ""


@dataclass(frozen=True)
class Verdict:
    """Does the model fit, in a word, in a sentence, and where not."""

    verdict: str
    tone: str
    words: str
    short: str
    worst: Sequence[Mapping[str, Any]] = ()


REWARD_CHOICES = (
    ("bernoulli", "success or failure"),
    ("binomial:10", "a share of ten: 0, 0.1, … 1"),
    ("binomial:100", "a percentage, as a share from 0 to 1"),
    ("gaussian:0.25", "a number around 0 to 1, fairly exact"),
    ("gaussian:0.5", "a number around 0 to 1, noisy"),
)
"""Reward distributions that the form for a new league offers."""


def heading(league: "League") -> Heading:
    """What stands above its pages."""
    about = league.about()
    sides = tuple(about["sides"] or ())
    counts = [sum(item.active and item.side == side for item in league.items()) for side in sides or (None,)]
    who = " × ".join(f"{count} {name}" for count, name in zip(counts, sides or ("players",), strict=True))
    deadline = "" if about["deadline"] is None else f"outcomes due within {_lasting(about['deadline'])}"
    return Heading(
        slug=league.name,
        who=who,
        policy=about["policy"],
        rewards=_rewards_words(about["rewards"]),
        deadline=deadline,
        sides=sides,
        waiting=about["n_waiting"],
        proposals=about["n_proposals"],
        results=about["n_results"],
        shadow=about["shadow"],
    )


def rules(league: "League") -> Rules:
    """What an outcome may be, by the reward distribution."""
    kind = parse_rewards(league.about()["rewards"])
    if isinstance(kind, Gaussian):
        return Rules(False, None, None, "0.5")
    whole = isinstance(kind, Bernoulli)
    shares = f"0, {1 / kind.trials:.3g}, … 1" if isinstance(kind, Binomial) and kind.trials > 1 else None
    return Rules(whole, kind.low, kind.high, shares or f"{kind.low:g} to {kind.high:g}")


def can_choose(league: "League") -> bool:
    """Can it propose pairs for some of its items only?"""
    return CATALOGUE[league.about()["policy"]].decides_from_counts


def policies() -> list[tuple[str, str]]:
    """Policies that the form for a new league offers: those that take whoever comes."""
    return [(name, kind.summary) for name, kind in CATALOGUE.items() if kind.decides_from_counts]


def tiles(league: "League") -> list[Tile]:
    """How it goes, at a glance."""
    about = league.about()
    recent = past(league, after=max(about["n_proposals"] - RECENT, 0))
    told = sum(one.told for one in recent)
    reward = Tile("Reward a pair, lately", "–", "no results yet")
    if told:
        achieved, best = sum(one.reward for one in recent) / told, _mean([one.best for one in recent])
        more = f"in the last {len(recent)} proposals" if best is None else f"best guess {digits(best)}"
        reward = Tile("Reward a pair, lately", digits(achieved), more)
    costs = [1 - one.expected / one.best for one in recent if one.expected is not None and one.best]
    exploring = Tile("Given up to learn, lately", "–", "no proposals yet")
    if costs:
        share = max(0.0, sum(costs) / len(costs))
        exploring = Tile("Given up to learn, lately", f"{100 * share:.1f} %", "of what the best guess would bring")
    shown = [
        Tile("Pending outcomes", str(about["n_waiting"]), plural(about["n_open"], "open proposal")),
        Tile("Results", f"{about['n_results']:,}".replace(",", "\u202f"), plural(about["n_proposals"], "proposal")),
        reward,
        exploring,
    ]
    if about["n_items"] <= QUICK_FIT:
        found = fit(league)
        shown.append(Tile("Model", found.verdict.capitalize(), found.short, found.tone))
    return shown


def ranking(league: "League") -> list[Side]:
    """Who stands where, the strongest first, each side for itself."""
    rows = league.ranking()
    sides: Sequence[str | None] = league.about()["sides"] or (None,)
    words = "Two are expected to achieve the product of their strengths."
    listed = [Side(side or "", words, ABOUT_NINETY, [row for row in rows if row.side == side]) for side in sides]
    return [side for side in listed if side.rows]


def proposal_view(proposal: Proposal, why: "Why") -> ProposalView:
    """A proposal for the page: its pairs in their order, each with what is known, and what was expected of it."""
    estimates = {tuple(row["pair"]): row["estimate"] for row in why.numbers["pairs"]}
    fixed = set(proposal.fixed)
    pairs = [
        Pair(ids, names, _told(proposal.outcomes.get(names)), estimates.get(ids), names in fixed)
        for ids, names in zip(proposal.ids, proposal.pairs, strict=True)
    ]
    byes = [Place(item, name) for item, name in zip(proposal.bye_ids, proposal.byes, strict=True)]
    return ProposalView(proposal.number, proposal.at, proposal.due, pairs, byes, proposal.notes)


def past(league: "League", *, after: int = 0) -> list[Past]:
    """All proposals that follow number `after`."""
    return [
        Past(one.number, one.told - one.void, one.reward, _each(one.expected, one.pairs), _each(one.best, one.pairs))
        for one in league.history(after=after)
    ]


def proposals(league: "League", before: int | None, limit: int) -> tuple[list[dict[str, Any]], int | None, int | None]:
    """A page of the list, the newest first; where the newer and the older page begin."""
    last = league.about()["n_proposals"]
    top = min(last, (before or last + 1) - 1)
    first = max(top - limit, 0)
    rows = [
        {
            "number": one.number,
            "at": one.at,
            "pairs": one.pairs,
            "waiting": one.pairs - one.told,
            "void": one.void,
            "reward": _each(one.reward, one.told - one.void),
            "expected": _each(one.expected, one.pairs),
            "best": _each(one.best, one.pairs),
        }
        for one in league.history(after=first, limit=top - first)
    ]
    return rows[::-1], *_neighbours(top, first, last, limit)


def meetings_of(league: "League") -> Map:
    """Who met whom, in the order of the ranking; those who left come last."""
    order = {row.id: place for place, row in enumerate(league.ranking())}
    sides: Sequence[str] = league.about()["sides"] or ()
    met = _met(league)
    took_part = {item for one in met for item in one.ids}
    items = [item for item in league.items() if item.active or item.id in took_part]
    items.sort(key=lambda item: (order.get(item.id, len(order)), item.id))
    rows = [Place(item.id, item.name) for item in items if not sides or item.side == sides[0]]
    columns = [Place(item.id, item.name) for item in items if item.side == sides[1]] if sides else None
    return drawn(rows, columns, met)


def item(league: "League", number: int) -> Item:
    """An item by its id; one that is not there is no page."""
    try:
        return league.item(number)
    except LeagueError as error:
        raise (ApiError("not-found", str(error)) if error.code == "unknown-item" else error) from None


def why_item(league: "League", one: Item) -> "Why":
    """What is known of an item."""
    return league.why(item=one.id)


def partners(league: "League", number: int) -> list[dict[str, Any]]:
    """Whom an item met, the most frequent first."""
    found = [
        {"id": one.ids[1 - mine], "name": one.names[1 - mine], "meetings": one.meetings, "mean": one.mean}
        for one in _met(league)
        if number in one.ids
        for mine in [one.ids.index(number)]
    ]
    return sorted(found, key=lambda one: (-one["meetings"], one["id"]))


def _met(league: "League") -> list[Met]:
    """All pairs that have a result, those who left included."""
    with league.view(model=True) as view:
        return [Met(pair.ids, pair.names, pair.count, pair.mean) for pair in view.results()]


def reasons(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What spoke for each pair of a proposal when it was chosen."""

    def words(row: Mapping[str, Any]) -> str:
        return "wished for" if row["fixed"] else "best guess" if row["in_best_guess"] else "to learn"

    return [
        {
            "ids": row["pair"],
            "names": row["names"],
            "estimate": row["estimate"],
            "value": row["value"],
            "words": words(row),
        }
        for row in found.get("pairs", ())
    ]


def fit(league: "League") -> Verdict:
    """Does the model fit?"""
    found = league.fit()
    names = {one.id: one.name for one in league.items()}
    word, tone, short = {
        None: ("not known yet", "", "too few results to tell"),
        True: ("fits", "good", f"{found.results} results"),
        False: ("does not fit", "part", "see Progress for the pairs"),
    }[found.fits]
    worst = [
        {"ids": (a, b), "names": (names[a], names[b]), "residual": f"{residual:+.1f} sd".replace("-", "−")}
        for a, b, residual in found.worst
    ]
    return Verdict(word, tone, found.sentence, short, worst)


def shadow(league: "League") -> dict[str, Any] | None:
    """What the shadow would have done."""
    report = league.shadow_report()
    if report.shadow is None:
        return None
    rows = [
        ("Proposals compared", str(report.proposals)),
        ("Equal", str(report.equal)),
        ("Pairs in common", f"{report.common} of {report.pairs}"),
        (f"Expected of a proposal of {report.live}", digits(report.live_expects)),
        (f"Expected of one of {report.shadow}", digits(report.shadow_expects)),
    ]
    return {"policy": report.shadow, "words": report.sentence, "rows": rows}


def numbers_of_item(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What is known of an item, beside the sentence."""
    place = [] if found["place"] is None else [("Place", f"{found['place']} of {found['of']}")]
    return [
        *place,
        ("Strength", fixed(found["estimate"])),
        (ABOUT_NINETY, f"{fixed(found['low'])} to {fixed(found['high'])}"),
        ("Results", str(found["meetings"])),
        ("Average reward", digits(found["mean"])),
        ("Times it sat out", str(found["byes"])),
    ]


def numbers_of_proposal(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What was expected of a proposal, beside the sentence."""
    bound = [] if found["exact"] else [("At most possible without rules", digits(found["bound"]))]
    return [
        ("Expected of these pairs", digits(found["expected"])),
        ("Expected of the best guess", digits(found["best"])),
        ("Given up to learn", digits(found["cost_of_exploring"])),
        *bound,
    ]


def rules_now(league: "League") -> list[dict[str, Any]]:
    """Exclusions and wishes that hold, each with the way to undo it."""
    with league.view() as view:
        kinds = (
            (view.exclusion_ids(), "never paired", "allow"),
            (view.wish_ids(), "paired in the next proposal", "unwish"),
        )
        return [
            {"ids": ids, "names": view.directory.pair(ids), "words": words, "undo": undo}
            for pairs, words, undo in kinds
            for ids in pairs
        ]


def log(league: "League", before: int | None, limit: int) -> tuple[list[dict[str, Any]], int | None, int | None]:
    """A page of what happened, the newest first."""
    last = league.about()["n_events"]
    top = min(last, (before or last + 1) - 1)
    first = max(top - limit, 0)
    doors = {"python": "program", "clock": "deadline"}
    doors |= {f"token:{token.id}": token.label for token in tokens.listed(league.store)}
    lines = [
        {
            "seq": event.seq,
            "at": event.at,
            "by": doors.get(event.by, event.by),
            "sentence": sentence,
            "proposal": proposal_of(event.kind, event.data),
        }
        for event, sentence in league.audit(after=first, limit=top - first)
    ]
    return lines[::-1], *_neighbours(top, first, last, limit)


def _neighbours(top: int, first: int, last: int, limit: int) -> tuple[int | None, int | None]:
    """Where the newer and the older page of a list begin that has numbers from 1 to `last`."""
    return (min(top + limit, last) + 1 if top < last else None), (first + 1 if first > 0 else None)


def _told(outcome: Outcome | None) -> float | str | None:
    return "void" if outcome is VOID else outcome


def _each(total: float | None, pairs: int) -> float | None:
    return None if total is None or not pairs else total / pairs


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _lasting(seconds: float) -> str:
    """A time in the largest unit that is whole enough.

    >>> _lasting(259200), _lasting(5400), _lasting(30)
    ('3 days', '1.5 hours', '30 seconds')
    """
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")):
        if seconds >= size:
            many = f"{seconds / size:.3g}"
            return f"{many} {unit}{'' if many == '1' else 's'}"
    return f"{seconds:g} seconds"


def _rewards_words(typed: str) -> str:
    kind = parse_rewards(typed)
    if isinstance(kind, Bernoulli):
        return "success or failure"
    return f"shares of {kind.trials}" if isinstance(kind, Binomial) else "numbers"
