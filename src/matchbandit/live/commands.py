"""Commands: check a request against the state and return drafts of events. Nothing is changed here.

A command returns all its drafts or raises a `LeagueError` that says what to fix. No drafts: there is nothing to change.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from matchbandit.errors import MatchbanditError, check_int
from matchbandit.formatting import float_text
from matchbandit.graphs import MAX_PAIRS
from matchbandit.live.errors import LeagueError
from matchbandit.live.events import Draft, this_version
from matchbandit.live.names import Directory, item_label, normalize_name
from matchbandit.live.records import VOID, Outcome, Receipt
from matchbandit.live.settings import OTHER_POLICIES, LeagueSettings, check_reward, is_number
from matchbandit.live.state import ProposalState, State
from matchbandit.live.tally import key_of, pair_of
from matchbandit.past_results import MAX_PLAYS
from matchbandit.policies.catalogue import CATALOGUE
from matchbandit.rewards import RewardDistribution, parse_rewards

Name = str | int
"""An item, by name or id."""
Outcomes = (
    Mapping[tuple[str, str], Outcome]  # mappings are invariant in their keys, so mypy needs each type
    | Mapping[tuple[int, int], Outcome]
    | Mapping[tuple[Name, Name], Outcome]
    | Iterable[tuple[Name, Name, Outcome]]
)

MAX_PER_CALL = 10_000
"""Most items, pairs or outcomes in one call, and most results in one event."""
MAX_RULES = 100_000
"""Most exclusions and wishes of a league together. Collecting as many for a proposal takes 25 ms, under the lock of the
league (`python benchmarks/compute_costs.py rules`)."""
_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")


# Creation ------------------------------------------------------------------------------------------------------------


def check_slug(slug: object) -> str:
    """Check the URL name of a league: lower-case letters, digits and hyphens.

    >>> check_slug("chess-club-2")
    'chess-club-2'
    """
    if isinstance(slug, str) and _SLUG.fullmatch(slug):
        return slug
    raise LeagueError(
        "bad-name",
        f"the name of a league is 1 to 64 lower-case letters, digits and hyphens, such as chess-club; "
        f"got {str(slug)[:80]!r}.",
    )


def create(
    slug: str,
    settings: LeagueSettings | None = None,
    *,
    players: Iterable[str] | None = None,
    sides: Mapping[str, Iterable[str]] | None = None,
    rewards: str | RewardDistribution = "bernoulli",
    seed: int | None = None,
    past: Iterable[tuple[str, str, int, float]] | None = None,
    **changes: Any,
) -> list[Draft]:
    """Create a league of `players` or of two `sides`; `past` are earlier results as (name, name, count, sum).

    Items that only occur in `past` join as well.
    """
    check_slug(slug)
    if (players is not None) and (sides is not None):
        raise LeagueError("bad-value", "a league has players or two sides, not both.")
    side_names = None if sides is None else _side_names(sides)
    kind = "players" if side_names is None else "sides"
    distribution = resolve_rewards(rewards)
    created = {
        "key": slug,
        "kind": kind,
        "sides": side_names,
        **(settings or LeagueSettings()).replace(changes).validate(kind, distribution).to_config(),
        "rewards": distribution.notation,
        "seed": _check_int("seed", 0 if seed is None else seed, minimum=0),
        "matchbandit": this_version(),
    }
    preview = _Preview(Directory(side_names))
    preview.apply([Draft("created", created)])
    if sides is not None:
        for place, names in enumerate(sides.values()):
            preview.apply(_join_all(preview, names, place))
    elif players is not None:
        preview.apply(_join_all(preview, players, 0))
    if past is not None:
        rows = list(past)
        for place in range(1 if side_names is None else 2):
            columns = (0, 1) if side_names is None else (place,)
            named = dict.fromkeys(normalize_name(row[column]) for row in rows for column in columns)
            preview.apply(
                _join_all(preview, [name for name in named if preview.directory.find(name, place) is None], place)
            )
        preview.apply(import_past(preview.state, preview.directory, rows))
    return preview.drafts


class _Preview:
    """A new state and directory to which drafts are applied one after the other."""

    def __init__(self, directory: Directory) -> None:
        self.state, self.directory = State(), directory
        self.drafts: list[Draft] = []

    def apply(self, drafts: Iterable[Draft]) -> None:
        for draft in drafts:
            self.state.apply(draft.event(self.state.seq + 1, ""))
            self.directory.write(draft.names, self.state.sides_by_item)
            self.drafts.append(draft)


def _join_all(preview: _Preview, names: Iterable[str], side: int) -> list[Draft]:
    joining = _as_list("names", names)
    return join(preview.state, preview.directory, joining, side=side) if joining else []


def import_past(state: State, directory: Directory, results: Iterable[tuple[Name, Name, int, float]]) -> list[Draft]:
    """Import earlier results, as (name, name, count, sum), before the first proposal."""
    if state.last_number:
        raise LeagueError(
            "not-supported",
            "earlier results can only be imported before the first proposal. Create a new league with past=.",
        )
    kind = CATALOGUE[state.config["policy"]]
    if not (kind.decides_from_counts or kind.capabilities.warm_start):
        raise LeagueError("not-supported", f"{kind.name} cannot use results that others have sampled. {OTHER_POLICIES}")
    totals: dict[int, list[Any]] = {}
    rewards = state.rewards
    for row in results:
        if not isinstance(row, Sequence) or isinstance(row, str) or len(row) != 4:
            raise LeagueError("bad-value", f"an earlier result is (name, name, count, sum); got {row!r}.")
        key = key_of(*directory.resolve_pair(row[:2]))
        pair = _pair_text(directory, key)
        count = _check_int(f"the count of {pair}", row[2], minimum=1, maximum=MAX_PLAYS)
        paid = row[3]
        if not is_number(paid):
            raise LeagueError("reward-outside", f"the sum of the rewards of {pair} must be a number; got {paid!r}.")
        if rewards.impossible(np.asarray(float(paid)), count):
            raise LeagueError("reward-outside", rewards.refusal(float(paid), count, pair=pair))
        entry = totals.setdefault(key, [*pair_of(key), 0, 0.0])
        entry[2] += count
        entry[3] += float(paid)
    rows = list(totals.values())
    chunks = [rows[first : first + MAX_PER_CALL] for first in range(0, len(rows), MAX_PER_CALL)]
    return [Draft("began", {"results": chunk}) for chunk in chunks]


# Roster -----------------------------------------------------------------------------------------------------------


def join(state: State, directory: Directory, names: Iterable[str], *, side: str | int | None = None) -> list[Draft]:
    """Add items; those that left rejoin. A league of two sides needs `side`."""
    place = _side(state, side)
    fresh: dict[str, int] = {}
    back: list[int] = []
    for name in map(normalize_name, _as_list("names", names)):
        item = directory.find(name, place)
        if item is None and name not in fresh:
            fresh[name] = state.n_items + len(fresh) + 1
        elif item is not None and not state.active[item - 1] and item not in back:
            back.append(item)
        else:
            raise LeagueError("name-taken", f"{name!r} is in the league already. Use another name.")
    _refuse_new_roster(state, "joins")
    drafts = [Draft("returned", {"items": back})] if back else []
    if fresh:
        items = [[item, place] for item in fresh.values()]
        drafts.append(Draft("joined", {"items": items}, tuple((item, name) for name, item in fresh.items())))
        _refuse_too_many(state, [len(fresh), 0] if place == 0 else [0, len(fresh)])
    return drafts


def leave(state: State, directory: Directory, names: Iterable[Name], *, side: str | int | None = None) -> list[Draft]:
    """Let items leave: they are no longer paired; their results stay."""
    gone = [item for item in _items(state, directory, names, side) if state.active[item - 1]]
    if gone:
        _refuse_new_roster(state, "leaves")
    return [Draft("left", {"items": gone})] if gone else []


def rejoin(state: State, directory: Directory, names: Iterable[Name], *, side: str | int | None = None) -> list[Draft]:
    """Let items that left rejoin, with their results."""
    back = [item for item in _items(state, directory, names, side) if not state.active[item - 1]]
    for item in back:
        if state.forgotten[item - 1]:
            raise LeagueError(
                "not-supported", f"{item_label(item)} was forgotten and cannot rejoin. Join it as a new item."
            )
    if back:
        _refuse_new_roster(state, "rejoins")
    return [Draft("returned", {"items": back})] if back else []


def rename(state: State, directory: Directory, old: Name, new: str, *, side: str | int | None = None) -> list[Draft]:
    """Rename an item."""
    item = item_of(state, directory, old, side)
    name = normalize_name(new)
    if state.forgotten[item - 1]:
        raise LeagueError("not-supported", f"{item_label(item)} was forgotten and cannot be renamed.")
    other = directory.find(name, state.sides_by_item[item - 1])
    if other == item:
        return []
    if other is not None:
        where = "is in the league already" if state.active[other - 1] else "has left the league, and keeps its name"
        raise LeagueError("name-taken", f"{name!r} {where}. Use another name.")
    return [Draft("renamed", {"item": item}, ((item, name),))]


def forget(state: State, directory: Directory, name: Name, *, side: str | int | None = None) -> list[Draft]:
    """Erase a name; the item leaves, and its results stay under its id."""
    item = item_of(state, directory, name, side)
    return [] if state.forgotten[item - 1] else [Draft("forgotten", {"item": item}, ((item, None),))]


# Rules ---------------------------------------------------------------------------------------------------------------


def exclude(state: State, directory: Directory, pairs: Iterable[tuple[Name, Name]]) -> list[Draft]:
    """Never propose these pairs."""
    keys = _pairs(directory, pairs)
    for key in keys:
        if key in state.wishes:
            raise LeagueError(
                "contradiction", f"{_pair_text(directory, key)} are wished for. Remove the wish first (unwish)."
            )
    _refuse_rules(state, "exclusions")
    new = [key for key in keys if key not in state.exclusions]
    _refuse_too_many_rules(state, len(new))
    return _pair_drafts("excluded", new)


def allow(state: State, directory: Directory, pairs: Iterable[tuple[Name, Name]]) -> list[Draft]:
    """Remove exclusions."""
    return _pair_drafts("allowed", [key for key in _pairs(directory, pairs) if key in state.exclusions])


def wish(state: State, directory: Directory, pairs: Iterable[tuple[Name, Name]]) -> list[Draft]:
    """Fix each pair in the next proposal for which both items are available."""
    keys = _pairs(directory, pairs)
    for key in keys:
        if key in state.exclusions:
            raise LeagueError(
                "contradiction", f"{_pair_text(directory, key)} are excluded. Remove the exclusion first (allow)."
            )
        for item in pair_of(key):
            if state.forgotten[item - 1]:
                raise LeagueError("not-supported", f"{item_label(item)} was forgotten and cannot be paired.")
    _refuse_rules(state, "wishes")
    new = [key for key in keys if key not in state.wishes]
    _refuse_too_many_rules(state, len(new))
    return _pair_drafts("wished", new)


def _refuse_too_many_rules(state: State, more: int) -> None:
    total = len(state.exclusions) + len(state.wishes) + more
    if more and total > MAX_RULES:
        raise LeagueError(
            "too-many-rules",
            f"a league has at most {MAX_RULES} exclusions and wishes together; got {total}. Remove exclusions "
            f"(allow), or let items leave that meet nobody (leave).",
        )


def unwish(state: State, directory: Directory, pairs: Iterable[tuple[Name, Name]]) -> list[Draft]:
    """Remove wishes."""
    return _pair_drafts("unwished", [key for key in _pairs(directory, pairs) if key in state.wishes])


def configure(state: State, **changes: Any) -> list[Draft]:
    """Change settings: any field of `LeagueSettings`. A new policy starts with all results so far."""
    old = LeagueSettings.from_config(state.config)
    new = old.replace(changes).validate(state.config["kind"], state.rewards)
    before, after = old.to_config(), new.to_config()
    different = {name: value for name, value in after.items() if value != before[name]}
    if not different:
        return []
    if different.keys() & {"policy", "options", "selection"}:
        _refuse_change_of_policy(state, after)
    return [Draft("configured", different)]


# Outcomes ------------------------------------------------------------------------------------------------------------


def needs_record(state: State, number: int) -> bool:
    """Is this proposal closed, so that its state must be read from the log? Raises if it does not exist."""
    whole = _check_int("the number of a proposal", number, minimum=1, code="unknown-proposal")
    if whole > state.last_number:
        last = f"the last one is {state.last_number}" if state.last_number else "there was none yet"
        raise LeagueError("unknown-proposal", f"there is no proposal {whole}; {last}. Ask first.")
    return whole not in state.open


def tell(
    state: State, directory: Directory, number: int, outcomes: Outcomes, *, record: ProposalState | None = None
) -> tuple[list[Draft], Receipt]:
    """Record outcomes of some or all pairs of a proposal; `record` is the state of a closed one.

    Repeated outcomes are ignored; contradictions are refused.
    """
    proposal = _proposal_state(state, number, record)
    rewards = _outcomes(state, directory, proposal, outcomes)
    fresh = {key: reward for key, reward in rewards.items() if key not in proposal.known}
    for key, reward in rewards.items():
        if key in proposal.known and proposal.known[key] != reward:
            raise LeagueError(
                "contradiction",
                f"{_pair_text(directory, key)} of proposal {proposal.number} have the outcome "
                f"{_outcome_text(proposal.known[key])} already; got {_outcome_text(reward)}. "
                f"If the old one was wrong, or was set by the deadline, correct it (correct).",
            )
    receipt = Receipt(
        proposal=proposal.number,
        booked=len(fresh),
        repeated=len(rewards) - len(fresh),
        waiting=len(proposal.pairs) - len(proposal.known) - len(fresh),
    )
    rows = [[*pair_of(key), reward] for key, reward in fresh.items()]
    return ([Draft("told", {"proposal": proposal.number, "outcomes": rows})] if rows else []), receipt


def correct(
    state: State, directory: Directory, number: int, outcomes: Outcomes, *, record: ProposalState | None = None
) -> tuple[list[Draft], Receipt]:
    """Replace recorded outcomes; both stay in the log."""
    proposal = _proposal_state(state, number, record)
    rewards = _outcomes(state, directory, proposal, outcomes)
    rows = []
    for key, reward in rewards.items():
        if key not in proposal.known:
            raise LeagueError(
                "bad-value",
                f"{_pair_text(directory, key)} of proposal {proposal.number} have no outcome yet, so there is "
                f"nothing to correct. Record it first (tell).",
            )
        if proposal.known[key] != reward:
            rows.append([*pair_of(key), proposal.known[key], reward])
    if (
        rows
        and state.last_round is not None
        and not _decides_from_counts(state)
        and state.last_round.number != proposal.number
    ):
        raise LeagueError(
            "not-supported",
            f"{state.config['policy']} has gone on from proposal {proposal.number}: only the outcomes of its "
            f"last round, proposal {state.last_round.number}, can be corrected. {OTHER_POLICIES}",
        )
    receipt = Receipt(proposal.number, len(rows), len(rewards) - len(rows), len(proposal.pairs) - len(proposal.known))
    return ([Draft("corrected", {"proposal": proposal.number, "outcomes": rows})] if rows else []), receipt


def void(
    state: State,
    directory: Directory,
    number: int,
    pairs: Iterable[tuple[Name, Name]] | None = None,
    *,
    record: ProposalState | None = None,
) -> tuple[list[Draft], Receipt]:
    """Record that pairs of a proposal never met; by default, all whose outcome is missing."""
    proposal = _proposal_state(state, number, record)
    keys = proposal.waiting if pairs is None else _pairs(directory, pairs)
    return tell(state, directory, number, [(*pair_of(key), VOID) for key in keys], record=record)


def expire(state: State, now: str) -> list[Draft]:
    """Set missing outcomes after the deadline: void, or the league's default."""
    if not state.dues or state.dues[0][0] > now:
        return []
    due = sorted({number for at, number in state.dues if at <= now and number in state.open})
    default = state.config["default"]
    reward = None if default == "void" else default
    return [
        Draft("expired", {"proposal": number, "outcomes": [[*pair_of(key), reward] for key in proposal.waiting]})
        for number, proposal in ((number, state.open[number]) for number in due)
    ]


# Checks --------------------------------------------------------------------------------------------------------------


def _decides_from_counts(state: State) -> bool:
    return CATALOGUE[state.config["policy"]].decides_from_counts


def _check_int(name: str, value: object, *, minimum: int, maximum: int | None = None, code: str = "bad-value") -> int:
    """`check_int`, raising a `LeagueError`."""
    try:
        return check_int(name, value, minimum=minimum, maximum=maximum)
    except MatchbanditError as error:
        raise LeagueError(code, str(error)) from None


def _as_list(what: str, values: Iterable[Any]) -> list[Any]:
    """The values as a list, of a length that one call may have."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise LeagueError("bad-value", f"{what} must be a list; got {values!r}.")
    as_list = list(values)
    if len(as_list) > MAX_PER_CALL:
        raise LeagueError("bad-value", f"one call takes at most {MAX_PER_CALL} {what}; got {len(as_list)}. Split them.")
    return as_list


def _side_names(sides: Mapping[str, Iterable[str]]) -> list[str]:
    if not isinstance(sides, Mapping) or len(sides) != 2:
        raise LeagueError(
            "bad-value", "sides name two sides and their items, such as {'ads': ['a', 'b'], 'slots': ['top']}."
        )
    names = [normalize_name(name) for name in sides]
    if names[0] == names[1]:
        raise LeagueError("bad-name", f"the two sides need two names; got {names[0]!r} twice.")
    return names


def _side(state: State, side: str | int | None) -> int:
    """The index of a side, 0 or 1; always 0 for players."""
    names = state.config["sides"]
    if names is None:
        if side in (None, 0):
            return 0
        raise LeagueError("bad-value", f"this league has players, not sides; got side {side!r}. Omit it.")
    if isinstance(side, int) and not isinstance(side, bool) and side in (0, 1):
        return side
    if side in names:
        return int(names.index(side))
    raise LeagueError("bad-value", f"say which side: {names[0]!r} or {names[1]!r}; got {side!r}.")


def item_of(state: State, directory: Directory, name: Name, side: str | int | None) -> int:
    """The id of an item, on a side if one is given."""
    return directory.resolve(name, None if side is None else _side(state, side))


def _items(state: State, directory: Directory, names: Iterable[Name], side: str | int | None) -> list[int]:
    """The ids of these items, without duplicates."""
    return list(dict.fromkeys(item_of(state, directory, name, side) for name in _as_list("names", names)))


def _pairs(directory: Directory, pairs: Iterable[tuple[Name, Name]]) -> list[int]:
    """The keys of these pairs, without duplicates."""
    return list(dict.fromkeys(key_of(*directory.resolve_pair(pair)) for pair in _as_list("pairs", pairs)))


def _pair_drafts(kind: str, keys: list[int]) -> list[Draft]:
    return [Draft(kind, {"pairs": [list(pair_of(key)) for key in keys]})] if keys else []


def _pair_text(directory: Directory, key: int) -> str:
    """A pair, for an error message."""
    a, b = directory.pair(pair_of(key))
    return f"{a!r} and {b!r}"


def _outcome_text(reward: float | None) -> str:
    return "void" if reward is None else float_text(reward)


def _proposal_state(state: State, number: int, record: ProposalState | None) -> ProposalState:
    """The state of this proposal, open or not."""
    if not needs_record(state, number):
        return state.open[int(number)]
    if record is None or record.number != number:
        raise LeagueError("proposal-closed", f"proposal {number} is closed; its record is needed.")
    return record


def _outcomes(
    state: State, directory: Directory, proposal: ProposalState, outcomes: Outcomes
) -> dict[int, float | None]:
    """Check outcomes; returns them by pair key, None for void."""
    if isinstance(outcomes, Mapping):
        rows: Iterable[Any] = [(pair, reward) for pair, reward in outcomes.items()]
    else:
        rows = []
        for row in _as_list("outcomes", outcomes):
            if isinstance(row, str) or not isinstance(row, Sequence) or len(row) != 3:
                raise LeagueError("bad-value", f"an outcome is (name, name, reward); got {row!r}.")
            rows.append((row[:2], row[2]))
    by_pair: dict[int, float | None] = {}
    for pair, reward in _as_list("outcomes", rows):
        key = key_of(*directory.resolve_pair(pair))
        if key not in proposal.pairs:
            raise LeagueError(
                "not-proposed",
                f"{_pair_text(directory, key)} are not a pair of proposal {proposal.number}. Its pairs are "
                f"{_list_pairs(directory, proposal)}.",
            )
        value = check_reward(state.rewards, reward, _pair_text(directory, key))
        if by_pair.setdefault(key, value) != value:
            raise LeagueError(
                "contradiction",
                f"{_pair_text(directory, key)} are given twice, with {_outcome_text(by_pair[key])} and "
                f"{_outcome_text(value)}. Give each pair once.",
            )
    return by_pair


def _list_pairs(directory: Directory, proposal: ProposalState, limit: int = 5) -> str:
    pairs = [" + ".join(directory.pair(pair)) for pair in proposal.ids[:limit]]
    return ", ".join(pairs) + (f" and {len(proposal.pairs) - limit} more" if len(proposal.pairs) > limit else "")


def resolve_rewards(rewards: str | RewardDistribution) -> RewardDistribution:
    """The reward distribution, which may be given by name."""
    try:
        return rewards if isinstance(rewards, RewardDistribution) else parse_rewards(rewards)
    except MatchbanditError as error:
        raise LeagueError("bad-value", str(error)) from None


def _refuse_new_roster(state: State, what: str) -> None:
    """Refuse a change of the roster: a round policy keeps the items it started with."""
    if state.last_number and not _decides_from_counts(state):
        name = state.config["policy"]
        raise LeagueError(
            "not-supported",
            f"{name} plays whole rounds with a fixed set of items: nobody {what} after the first proposal. "
            f"Configure another policy first, or create a new league. {OTHER_POLICIES}",
        )


def _refuse_rules(state: State, what: str) -> None:
    if not _decides_from_counts(state):
        raise LeagueError(
            "not-supported",
            f"{state.config['policy']} plans its own rounds and does not support {what}. {OTHER_POLICIES}",
        )


def _refuse_too_many(state: State, more: list[int]) -> None:
    """Refuse items whose pairs would not fit into the policy's memory."""
    kind = CATALOGUE[state.config["policy"]]
    n_pairs = _n_pairs(state.two_sided, [state.on_side[0] + more[0], state.on_side[1] + more[1]])
    if n_pairs > MAX_PAIRS and not kind.capabilities.any_size:
        raise LeagueError(
            "not-supported",
            f"{kind.name} stores a number per pair, and there would be {n_pairs} (at most {MAX_PAIRS}). "
            f"{OTHER_POLICIES}",
        )


def _n_pairs(two_sided: bool, on_side: list[int]) -> int:
    return on_side[0] * on_side[1] if two_sided else on_side[0] * (on_side[0] - 1) // 2


def _refuse_change_of_policy(state: State, new: Mapping[str, Any]) -> None:
    """Refuse a round policy after the first proposal, and giving one up during a round."""
    old = CATALOGUE[state.config["policy"]]
    if state.last_number and not CATALOGUE[new["policy"]].decides_from_counts:
        raise LeagueError(
            "not-supported",
            f"{new['policy']} plays whole rounds from the start, and this league has had proposals. "
            f"Create a new league for it.",
        )
    if state.open and not old.decides_from_counts:
        number = next(iter(state.open))
        raise LeagueError(
            "round-open",
            f"{old.name} waits for proposal {number}. Tell or void its pairs, then change the policy.",
        )
    if not CATALOGUE[new["policy"]].decides_from_counts and (state.exclusions or state.wishes):
        raise LeagueError("not-supported", f"{new['policy']} plans its own rounds. Remove exclusions and wishes first.")
    if not CATALOGUE[new["policy"]].capabilities.any_size and _n_pairs(state.two_sided, state.on_side) > MAX_PAIRS:
        raise LeagueError(
            "not-supported", f"{new['policy']} stores a number per pair and supports at most {MAX_PAIRS} pairs."
        )
