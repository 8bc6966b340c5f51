"""The state of a league: a fold of its events, and nothing else. No I/O, no clock, no decision.

Proposals are facts: the fold takes them as they were recorded. The only random numbers are coins that a policy's
bookkeeping flips for a result, from a stream named by the league, the proposal and the pair.
"""

import json
from collections.abc import Callable, Iterable, Set
from hashlib import blake2b
from heapq import heapify, heappop, heappush
from typing import Any

from matchbandit.live.errors import LeagueError
from matchbandit.live.events import NAMING, Event, pair_estimates
from matchbandit.live.reward_accounting import RewardAccounting
from matchbandit.live.settings import LeagueSettings
from matchbandit.live.tally import Tally, key_of, pair_of
from matchbandit.policies.catalogue import CATALOGUE
from matchbandit.policies.serialization import pack, unpack
from matchbandit.rewards import Bernoulli, RewardDistribution, parse_rewards

SNAPSHOT_VERSION = 4
"""Of `State.snapshot`. Snapshots of other versions are ignored and the log is folded again."""


class ProposalState:
    """What is known of a proposal: its pairs, and their outcomes."""

    __slots__ = ("at", "byes", "due", "fixed", "known", "memory", "number", "pairs", "seq")

    def __init__(self, number: int, seq: int, data: dict[str, Any], at: str = "") -> None:
        """As it was proposed; `data` is that of the event."""
        self.number, self.seq, self.at = number, seq, at
        self.due: str | None = data.get("due")
        self.pairs = pair_estimates(data)
        """What the model expected of each pair."""
        self.known: dict[int, float | None] = {}
        """Outcomes by pair; None: void."""
        self.byes: list[int] = data.get("byes", [])
        self.fixed: list[list[int]] = data.get("fixed", [])
        self.memory: str | None = data.get("memory")
        """That of a policy which plays whole rounds, as it was when it had proposed this one."""

    @property
    def open(self) -> bool:
        """Does it wait for an outcome?"""
        return len(self.known) < len(self.pairs)

    @property
    def waiting(self) -> list[int]:
        """The pairs that it waits for."""
        return [key for key in self.pairs if key not in self.known]

    @property
    def ids(self) -> list[tuple[int, int]]:
        """Its pairs."""
        return [pair_of(key) for key in self.pairs]

    def described(self) -> dict[str, Any]:
        """All of it, for a snapshot."""
        return {
            "number": self.number,
            "seq": self.seq,
            "at": self.at,
            "due": self.due,
            "pairs": [list(pair_of(key)) for key in self.pairs],
            "estimates": list(self.pairs.values()),
            "known": [[place, self.known[key]] for place, key in enumerate(self.pairs) if key in self.known],
            "byes": self.byes,
            "fixed": self.fixed,
            "memory": self.memory,
        }

    @classmethod
    def from_description(cls, described: dict[str, Any]) -> "ProposalState":
        """What `described` described."""
        proposal = cls(described["number"], described["seq"], described, described["at"])
        keys = list(proposal.pairs)
        proposal.known = {keys[place]: reward for place, reward in described["known"]}
        return proposal


class State:
    """All that a league knows, after the events up to `seq`."""

    def __init__(self) -> None:
        """Before the first event."""
        self.seq = 0
        self.names_seq = 0
        """The seq of the last event that changed a name."""
        self.rules_seq = 0
        """The seq of the last event after which a decision taken before is out of date; see `events.DECIDING`."""
        self.config: dict[str, Any] = {}
        self.rewards: RewardDistribution
        self.sides_by_item: list[int] = []
        """The side of item k stands at place k − 1, as in all lists of items."""
        self.places: list[int] = []
        """Its place on its side, from 0: its number in the graph of a policy."""
        self.active: list[bool] = []
        self.forgotten: list[bool] = []
        self.byes: list[int] = []
        self.effective_byes: list[int] = []
        """Byes as they count for whose turn it is: who comes, or comes back, or was away for a proposal, is level with
        the lowest there, and does not sit out again and again to make up for byes that others had before."""
        self.last_bye: list[int] = []
        """The number of the last proposal in which it sat out or was away, or after which it joined."""
        self.meetings: list[int] = []
        """Results that it had a part in."""
        self.on_side = [0, 0]
        """How many items each side has; players are of the first."""
        self.exclusions: set[int] = set()
        self._exclusions_are_shared = False
        self.wishes: dict[int, None] = {}
        """In the order in which they were made."""
        self.next_number = 1
        self.open: dict[int, ProposalState] = {}
        self.waiting: dict[int, int] = {}
        """Pairs with an outcome to come, and in how many open proposals each is."""
        self.last_round: ProposalState | None = None
        """The last proposal of a policy that plays whole rounds: it goes on from there."""
        self.tally = Tally()
        self.off_grid = 0
        """Results of a binomial league that are not a share of its trials: versions up to 0.7 took any in [0, 1]."""
        self.archived: str | None = None
        """When it was archived; None: it can be written."""
        self.dues: list[tuple[str, int]] = []
        """Deadlines of open proposals, the earliest first (a heap; closed ones may linger)."""
        self._accounting: RewardAccounting

    @property
    def exists(self) -> bool:
        """Was it created?"""
        return bool(self.config)

    @property
    def counting(self) -> RewardDistribution:
        """How policies and the model count results: binomial ones as `trials` coins each, but all as one coin each
        while any is not a share of the trials: weights that depend on the outcome would be biased."""
        return Bernoulli() if self.off_grid else self.rewards

    @property
    def n_items(self) -> int:
        """How many items ever joined."""
        return len(self.active)

    @property
    def two_sided(self) -> bool:
        """Are there two sides?"""
        return bool(self.config["kind"] == "sides")

    def summary(self) -> dict[str, Any]:
        """What lists of leagues show: the fields of `LeagueSummary` that the events determine."""
        active = [0, 0]
        for is_active, side in zip(self.active, self.sides_by_item, strict=True):
            active[side] += is_active
        config = self.config
        return {
            "title": config.get("title", ""),
            "kind": config["kind"],
            "sides": config["sides"],
            "policy": config["policy"],
            "rewards": config["rewards"],
            "created": config["created"],
            "n_items": self.n_items,
            "n_active": sum(active),
            "active_by_side": active if self.two_sided else active[:1],
            "n_proposals": self.last_number,
            "n_open": len(self.open),
            "n_waiting": sum(self.waiting.values()),
            "n_results": self.tally.n_results,
            "n_events": self.seq,
        }

    @property
    def last_number(self) -> int:
        """The number of the last proposal; 0: there was none."""
        return self.next_number - 1

    def apply(self, event: Event) -> None:
        """Take in the next event."""
        self.step(event.seq, event.kind, event.data, event.at)

    def fold(self, events: Iterable[Event]) -> "State":
        """Take in the next events, in order."""
        for event in events:
            self.step(event.seq, event.kind, event.data, event.at)
        return self

    def step(self, seq: int, kind: str, data: dict[str, Any], at: str = "") -> None:
        """Take in the next event, taken apart: for whoever reads many."""
        if seq != self.seq + 1:
            raise LeagueError("damaged", f"after event {self.seq} comes {self.seq + 1}, not {seq}: the log has a hole.")
        handler = _HANDLERS.get(kind)
        if handler is None:
            raise _newer(seq, f"is of the kind {kind!r}")
        self.seq = seq
        try:
            handler(self, data, at)
        except LeagueError:
            raise
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise LeagueError("damaged", f"event {seq} ({kind}) does not fit those before it: {error!r}.") from error
        if kind in NAMING:
            self.names_seq = seq

    # One method for each kind of event. ------------------------------------------------------------------------------

    def _created(self, data: dict[str, Any], at: str) -> None:
        if self.config:
            raise ValueError("the league exists")
        missing = [name for name in _REQUIRED if name not in data]
        if missing:
            raise ValueError(f"it has no {missing[0]!r}")
        self.config = {**data, "created": at}
        self.rules_seq = self.seq
        self._set_rewards()
        self._account_by_policy()

    def _joined(self, data: dict[str, Any], at: str) -> None:
        level = self._lowest_effective_byes()
        for item, side in data["items"]:
            if item != len(self.active) + 1:
                raise ValueError(f"item {item} comes after {len(self.active)}")
            self.sides_by_item.append(side)
            self.places.append(self.on_side[side])
            self.on_side[side] += 1
            self.active.append(True)
            self.forgotten.append(False)
            self.byes.append(0)
            self.effective_byes.append(level)
            self.last_bye.append(self.last_number)
            self.meetings.append(0)
        self.rules_seq = self.seq

    def _left(self, data: dict[str, Any], at: str) -> None:
        for item in data["items"]:
            self.active[item - 1] = False
        self.rules_seq = self.seq

    def _returned(self, data: dict[str, Any], at: str) -> None:
        level = self._lowest_effective_byes()
        for item in data["items"]:
            self.active[item - 1] = True
            self.effective_byes[item - 1] = max(self.effective_byes[item - 1], level)
        self.rules_seq = self.seq

    def _level_absent(self, available: list[int], number: int) -> None:
        """Whoever comes seldom has sat out seldom, but is not to sit out whenever there."""
        here = set(available)
        level = min((self.effective_byes[item - 1] for item in here), default=0)
        for place, active in enumerate(self.active):
            if active and place + 1 not in here:
                self.effective_byes[place] = max(self.effective_byes[place], level)
                self.last_bye[place] = number

    def _lowest_effective_byes(self) -> int:
        """The least that someone who is there has sat out."""
        if not self.last_number:
            return 0
        return min((byes for byes, active in zip(self.effective_byes, self.active, strict=True) if active), default=0)

    def _renamed(self, data: dict[str, Any], at: str) -> None:
        pass  # the names table has it

    def _forgotten(self, data: dict[str, Any], at: str) -> None:
        item = data["item"]
        self.active[item - 1] = False
        self.forgotten[item - 1] = True
        self.wishes = {key: None for key in self.wishes if item not in pair_of(key)}
        self.rules_seq = self.seq

    def _excluded(self, data: dict[str, Any], at: str) -> None:
        self._own_exclusions().update(key_of(a, b) for a, b in data["pairs"])
        self.rules_seq = self.seq

    def _allowed(self, data: dict[str, Any], at: str) -> None:
        self._own_exclusions().difference_update(key_of(a, b) for a, b in data["pairs"])
        self.rules_seq = self.seq

    def share_exclusions(self) -> Set[int]:
        """The exclusions for a reader who keeps them: the next change is made to a copy."""
        self._exclusions_are_shared = True
        return self.exclusions

    def _own_exclusions(self) -> set[int]:
        if self._exclusions_are_shared:
            self.exclusions, self._exclusions_are_shared = set(self.exclusions), False
        return self.exclusions

    def _wished(self, data: dict[str, Any], at: str) -> None:
        self.wishes.update((key_of(a, b), None) for a, b in data["pairs"])
        self.rules_seq = self.seq

    def _unwished(self, data: dict[str, Any], at: str) -> None:
        for a, b in data["pairs"]:
            self.wishes.pop(key_of(a, b), None)
        self.rules_seq = self.seq

    def _configured(self, data: dict[str, Any], at: str) -> None:
        self.config.update((name, data[name]) for name in LeagueSettings.names() if name in data)
        self.rules_seq = self.seq
        if "policy" in data or "options" in data:
            self._account_by_policy()

    def _began(self, data: dict[str, Any], at: str) -> None:
        accounting = self._accounting
        for a, b, count, paid in data["results"]:
            encode_rewards = paid if accounting.is_plain else accounting.total(count, paid)
            self.tally.add(key_of(a, b), 0, self.seq, paid, encode_rewards, count)
            if self.rewards.has_grid and self.rewards.impossible(paid, count):
                self.off_grid += count
            self.meetings[a - 1] += count
            self.meetings[b - 1] += count

    def _proposed(self, data: dict[str, Any], at: str) -> None:
        number = data["number"]
        if number != self.next_number:
            raise ValueError(f"proposal {number} comes after {self.last_number}")
        self.next_number = number + 1
        self.rules_seq = self.seq
        proposal = ProposalState(number, self.seq, data, at)
        if proposal.pairs:
            self.open[number] = proposal
        waiting = self.waiting
        for key in proposal.pairs:
            waiting[key] = waiting.get(key, 0) + 1
        if data.get("available") is not None:
            self._level_absent(data["available"], number)
        for item in proposal.byes:
            self.byes[item - 1] += 1
            self.effective_byes[item - 1] += 1
            self.last_bye[item - 1] = number
        for a, b in proposal.fixed:
            self.wishes.pop(key_of(a, b), None)
        if proposal.due is not None:
            heappush(self.dues, (proposal.due, number))
        if proposal.memory is not None:
            self.last_round = proposal

    def _told(self, data: dict[str, Any], at: str) -> None:
        number = data["proposal"]
        proposal = self.open[number]
        pairs, known, waiting, accounting = proposal.pairs, proposal.known, self.waiting, self._accounting
        rewards, has_grid = self.rewards, self.rewards.has_grid
        for a, b, reward in data["outcomes"]:
            key = a << 32 | b
            if key not in pairs or key in known:
                raise ValueError(f"{a} and {b} do not wait in proposal {number}")
            known[key] = reward
            if waiting[key] == 1:
                del waiting[key]
            else:
                waiting[key] -= 1
            if reward is not None:
                encode_rewards = reward if accounting.is_plain else accounting.one(reward, number, a, b)
                self.tally.add(key, number, self.seq, reward, encode_rewards)
                if has_grid and not rewards.is_possible(reward):
                    self.off_grid += 1
                self.meetings[a - 1] += 1
                self.meetings[b - 1] += 1
        if len(known) == len(pairs):
            del self.open[number]
            dues = self.dues
            while dues and dues[0][1] not in self.open:
                heappop(dues)

    def _corrected(self, data: dict[str, Any], at: str) -> None:
        number, accounting = data["proposal"], self._accounting
        states = [self.open.get(number), self.last_round]
        for a, b, was, now in data["outcomes"]:
            key = key_of(a, b)
            if self.rewards.has_grid:
                is_off = [reward is not None and not self.rewards.is_possible(reward) for reward in (was, now)]
                self.off_grid += is_off[1] - is_off[0]
            if was is not None:
                self.tally.remove(key, number, self.seq, was, accounting.one(was, number, a, b))
                self.meetings[a - 1] -= 1
                self.meetings[b - 1] -= 1
            if now is not None:
                self.tally.add(key, number, self.seq, now, accounting.one(now, number, a, b))
                self.meetings[a - 1] += 1
                self.meetings[b - 1] += 1
            for proposal in states:
                if proposal is not None and proposal.number == number:
                    proposal.known[key] = now

    def _archived(self, data: dict[str, Any], at: str) -> None:
        self.archived = at

    def _deleted(self, data: dict[str, Any], at: str) -> None:
        pass  # while it is deleted nobody reads it

    def _restored(self, data: dict[str, Any], at: str) -> None:
        self.archived = None

    # -----------------------------------------------------------------------------------------------------------------

    def _set_rewards(self) -> None:
        self.rewards = parse_rewards(self.config["rewards"])
        self.tally.low, self.tally.high = self.rewards.low, self.rewards.high

    def _account_by_policy(self) -> None:
        """Count results as the policy of the league does from now on, those from before as well as they can be."""
        config = self.config
        if config["policy"] not in CATALOGUE:
            raise _newer(self.seq, f"names the policy {config['policy']!r}")
        before = self._accounting.policy if hasattr(self, "_accounting") else config["policy"]
        self._accounting = RewardAccounting(config["policy"], self.rewards, config["seed"], config["key"])
        if config["policy"] != before:
            results = self.tally.results(self.last_number)
            self.tally.recompute_credits(self._accounting.totals(results.counts, results.paid), self.seq)
        self.tally.fade_by(config["options"].get("half_life"), self.last_number)

    def snapshot(self) -> dict[str, Any]:
        """All of it as plain JSON data; `restored` reads it back."""
        whole = {
            "version": SNAPSHOT_VERSION,
            "seq": self.seq,
            "names_seq": self.names_seq,
            "rules_seq": self.rules_seq,
            "config": self.config,
            "items": {name: list(getattr(self, name)) for name in _ITEM_LISTS},
            "exclusions": [list(pair_of(key)) for key in sorted(self.exclusions)],
            "wishes": [list(pair_of(key)) for key in self.wishes],
            "next_number": self.next_number,
            "open": [proposal.described() for proposal in self.open.values()],
            "last_round": None if self.last_round is None else self.last_round.described(),
            "tally": self.tally.described(),
            "off_grid": self.off_grid,
        }
        if self.archived is not None:
            whole["archived"] = self.archived
        packed: dict[str, Any] = pack(whole)
        return packed

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> "State":
        """The state that gave this snapshot."""
        if snapshot.get("version") != SNAPSHOT_VERSION:
            raise LeagueError(
                "not-supported",
                f"the snapshot has version {snapshot.get('version')!r}; this program reads {SNAPSHOT_VERSION}. "
                f"Fold the log instead.",
            )
        whole = unpack(snapshot)
        state = cls()
        state.seq, state.names_seq, state.rules_seq = whole["seq"], whole["names_seq"], whole["rules_seq"]
        state.config, state.next_number = whole["config"], whole["next_number"]
        state.archived = whole.get("archived")
        for name, values in whole["items"].items():
            setattr(state, name, values)
        for side in state.sides_by_item:
            state.on_side[side] += 1
        state.exclusions = {key_of(a, b) for a, b in whole["exclusions"]}
        state.wishes = {key_of(a, b): None for a, b in whole["wishes"]}
        for described in whole["open"]:
            state.open[described["number"]] = ProposalState.from_description(described)
        last = whole["last_round"]
        if last is not None:
            state.last_round = state.open.get(last["number"]) or ProposalState.from_description(last)
        for proposal in state.open.values():
            for key in proposal.waiting:
                state.waiting[key] = state.waiting.get(key, 0) + 1
        state.dues = [(proposal.due, proposal.number) for proposal in state.open.values() if proposal.due is not None]
        heapify(state.dues)
        state.tally, state.off_grid = Tally.from_description(whole["tally"]), whole["off_grid"]
        if state.config:
            state._set_rewards()
            config = state.config
            state._accounting = RewardAccounting(config["policy"], state.rewards, config["seed"], config["key"])
        return state

    def digest(self) -> str:
        """A short name for all of it: equal for equal states, whether folded from nothing or from a snapshot."""
        text = json.dumps(self.snapshot(), sort_keys=True, separators=(",", ":"))
        return blake2b(text.encode(), digest_size=16).hexdigest()


def _newer(seq: int, what: str) -> LeagueError:
    """The error for a log that a later version has written."""
    return LeagueError("not-supported", f"event {seq} {what}: this log is newer than this program. Update matchbandit.")


_REQUIRED = (
    *("key", "kind", "sides", "rewards", "seed"),
    *("policy", "options", "selection", "deadline", "default", "no_rematch", "shadow"),
)
"""What every version has recorded of a new league."""
_ITEM_LISTS = ("sides_by_item", "places", "active", "forgotten", "byes", "effective_byes", "last_bye", "meetings")

_Handler = Callable[[State, dict[str, Any], str], None]
_HANDLERS: dict[str, _Handler] = {
    "created": State._created,
    "joined": State._joined,
    "left": State._left,
    "returned": State._returned,
    "renamed": State._renamed,
    "forgotten": State._forgotten,
    "excluded": State._excluded,
    "allowed": State._allowed,
    "wished": State._wished,
    "unwished": State._unwished,
    "configured": State._configured,
    "began": State._began,
    "proposed": State._proposed,
    "told": State._told,
    "corrected": State._corrected,
    "expired": State._told,  # a deadline tells what nobody told
    "archived": State._archived,
    "deleted": State._deleted,
    "restored": State._restored,
}
