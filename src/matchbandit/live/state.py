"""The state of a league: a fold of its events, without I/O, clock or decisions.

Proposals are applied as they were recorded. The only random numbers are the coins that a policy's reward accounting
flips for a result, from a stream named by the league, the proposal and the pair.
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
from matchbandit.rewards import RewardDistribution, parse_rewards

SNAPSHOT_VERSION = 4
"""Version of `State.snapshot`. Snapshots of other versions are ignored and the log is replayed."""


class ProposalState:
    """The pairs of a proposal and their outcomes so far."""

    __slots__ = ("at", "byes", "due", "fixed", "known", "memory", "number", "pairs", "seq")

    def __init__(self, number: int, seq: int, data: dict[str, Any], at: str = "") -> None:
        """A new proposal, from the data of its event."""
        self.number, self.seq, self.at = number, seq, at
        self.due: str | None = data.get("due")
        self.pairs = pair_estimates(data)
        """The reward the model expected, by pair key."""
        self.known: dict[int, float | None] = {}
        """Outcomes by pair key; None: void."""
        self.byes: list[int] = data.get("byes", [])
        self.fixed: list[list[int]] = data.get("fixed", [])
        self.memory: str | None = data.get("memory")
        """The state of a round policy after it proposed this round."""

    @property
    def open(self) -> bool:
        """Is an outcome missing?"""
        return len(self.known) < len(self.pairs)

    @property
    def waiting(self) -> list[int]:
        """The pairs whose outcome is missing."""
        return [key for key in self.pairs if key not in self.known]

    @property
    def ids(self) -> list[tuple[int, int]]:
        """The pairs by item id."""
        return [pair_of(key) for key in self.pairs]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a snapshot."""
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
    def from_dict(cls, values: dict[str, Any]) -> "ProposalState":
        """Inverse of `to_dict`."""
        proposal = cls(values["number"], values["seq"], values, values["at"])
        keys = list(proposal.pairs)
        proposal.known = {keys[place]: reward for place, reward in values["known"]}
        return proposal


class State:
    """The state of a league after the events up to `seq`."""

    def __init__(self) -> None:
        """The state before the first event."""
        self.seq = 0
        self.names_seq = 0
        """The last event that changed a name."""
        self.rules_seq = 0
        """The last event that invalidates decisions in progress; see `events.DECIDING`."""
        self.config: dict[str, Any] = {}
        self.rewards: RewardDistribution
        self.sides_by_item: list[int] = []
        """The side of item k is at index k − 1, as in all lists of items."""
        self.places: list[int] = []
        """The index of each item on its side, from 0: its number in the graph of a policy."""
        self.active: list[bool] = []
        self.forgotten: list[bool] = []
        self.byes: list[int] = []
        self.effective_byes: list[int] = []
        """Byes as they count towards whose turn it is. An item that joins, rejoins or was absent is raised to the
        lowest count present, so that it does not sit out repeatedly to catch up with the others."""
        self.last_bye: list[int] = []
        """The last proposal in which the item sat out or was absent, or after which it joined."""
        self.meetings: list[int] = []
        """Results per item."""
        self.on_side = [0, 0]
        """Number of items per side; players are all on the first."""
        self.exclusions: set[int] = set()
        self._exclusions_are_shared = False
        self.wishes: dict[int, None] = {}
        """In order of creation."""
        self.next_number = 1
        self.open: dict[int, ProposalState] = {}
        self.waiting: dict[int, int] = {}
        """Pairs with a missing outcome, and in how many open proposals each occurs."""
        self.last_round: ProposalState | None = None
        """The last proposal of a round policy, from which it continues."""
        self.tally = Tally()
        self.archived: str | None = None
        """When the league was archived; None: it is writable."""
        self.dues: list[tuple[str, int]] = []
        """Deadlines of open proposals: a heap, which may still hold closed ones."""
        self._accounting: RewardAccounting

    @property
    def exists(self) -> bool:
        """Has the league been created?"""
        return bool(self.config)

    @property
    def n_items(self) -> int:
        """Number of items that ever joined."""
        return len(self.active)

    @property
    def two_sided(self) -> bool:
        """Does the league have two sides?"""
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
        """Apply the next event."""
        self.step(event.seq, event.kind, event.data, event.at)

    def fold(self, events: Iterable[Event]) -> "State":
        """Apply the next events, in order."""
        for event in events:
            self.step(event.seq, event.kind, event.data, event.at)
        return self

    def step(self, seq: int, kind: str, data: dict[str, Any], at: str = "") -> None:
        """Apply the next event, given by its fields: faster when reading many."""
        if seq != self.seq + 1:
            raise LeagueError(
                "damaged", f"the log has a gap: event {self.seq} is followed by {seq}, not {self.seq + 1}."
            )
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
        """Raise the byes of absent items: who is seldom present should not sit out whenever they are."""
        present = set(available)
        level = min((self.effective_byes[item - 1] for item in present), default=0)
        for place, active in enumerate(self.active):
            if active and place + 1 not in present:
                self.effective_byes[place] = max(self.effective_byes[place], level)
                self.last_bye[place] = number

    def _lowest_effective_byes(self) -> int:
        """The lowest effective byes of an active item."""
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
        """The exclusions, for a reader that keeps them: the next change copies them first."""
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
            credit = paid if accounting.is_identity else accounting.credit_total(count, paid)
            self.tally.add(key_of(a, b), 0, self.seq, paid, credit, count)
            if self.rewards.has_grid and self.rewards.impossible(paid, count):
                raise ValueError(f"{count} results of {a} and {b} cannot sum to {paid}")
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
                raise ValueError(f"{a} and {b} have no missing outcome in proposal {number}")
            known[key] = reward
            if waiting[key] == 1:
                del waiting[key]
            else:
                waiting[key] -= 1
            if reward is not None:
                credit = reward if accounting.is_identity else accounting.credit(reward, number, a, b)
                self.tally.add(key, number, self.seq, reward, credit)
                if has_grid and not rewards.is_possible(reward):
                    raise ValueError(f"{reward} is no {rewards} reward")
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
            if now is not None and self.rewards.has_grid and not self.rewards.is_possible(now):
                raise ValueError(f"{now} is no {self.rewards} reward")
            if was is not None:
                self.tally.remove(key, number, self.seq, was, accounting.credit(was, number, a, b))
                self.meetings[a - 1] -= 1
                self.meetings[b - 1] -= 1
            if now is not None:
                self.tally.add(key, number, self.seq, now, accounting.credit(now, number, a, b))
                self.meetings[a - 1] += 1
                self.meetings[b - 1] += 1
            for proposal in states:
                if proposal is not None and proposal.number == number:
                    proposal.known[key] = now

    def _archived(self, data: dict[str, Any], at: str) -> None:
        self.archived = at

    def _deleted(self, data: dict[str, Any], at: str) -> None:
        pass  # deleted leagues are not read

    def _restored(self, data: dict[str, Any], at: str) -> None:
        self.archived = None

    # -----------------------------------------------------------------------------------------------------------------

    def _set_rewards(self) -> None:
        self.rewards = parse_rewards(self.config["rewards"])
        self.tally.low, self.tally.high = self.rewards.low, self.rewards.high

    def _account_by_policy(self) -> None:
        """Count results as the league's policy does; earlier ones as far as their totals allow."""
        config = self.config
        if config["policy"] not in CATALOGUE:
            raise _newer(self.seq, f"names the policy {config['policy']!r}")
        before = self._accounting.policy if hasattr(self, "_accounting") else config["policy"]
        self._accounting = RewardAccounting(config["policy"], self.rewards, config["seed"], config["key"])
        if config["policy"] != before:
            results = self.tally.results(self.last_number)
            self.tally.recompute_credits(self._accounting.credit_totals(results.counts, results.paid), self.seq)
        self.tally.fade_by(config["options"].get("half_life"), self.last_number)

    def snapshot(self) -> dict[str, Any]:
        """The whole state as plain JSON data; `from_snapshot` is the inverse."""
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
            "open": [proposal.to_dict() for proposal in self.open.values()],
            "last_round": None if self.last_round is None else self.last_round.to_dict(),
            "tally": self.tally.to_dict(),
        }
        if self.archived is not None:
            whole["archived"] = self.archived
        packed: dict[str, Any] = pack(whole)
        return packed

    @classmethod
    def from_snapshot(cls, snapshot: dict[str, Any]) -> "State":
        """Inverse of `snapshot`."""
        if snapshot.get("version") != SNAPSHOT_VERSION:
            raise LeagueError(
                "not-supported",
                f"the snapshot has version {snapshot.get('version')!r}; this program reads {SNAPSHOT_VERSION}. "
                f"Replay the log instead.",
            )
        whole = unpack(snapshot)
        state = cls()
        state.seq, state.names_seq, state.rules_seq = whole["seq"], whole["names_seq"], whole["rules_seq"]
        state.config, state.next_number = whole["config"], whole["next_number"]
        state.archived = whole.get("archived")
        for name, column in whole["items"].items():
            setattr(state, name, column)
        for side in state.sides_by_item:
            state.on_side[side] += 1
        state.exclusions = {key_of(a, b) for a, b in whole["exclusions"]}
        state.wishes = {key_of(a, b): None for a, b in whole["wishes"]}
        for values in whole["open"]:
            state.open[values["number"]] = ProposalState.from_dict(values)
        last = whole["last_round"]
        if last is not None:
            state.last_round = state.open.get(last["number"]) or ProposalState.from_dict(last)
        for proposal in state.open.values():
            for key in proposal.waiting:
                state.waiting[key] = state.waiting.get(key, 0) + 1
        state.dues = [(proposal.due, proposal.number) for proposal in state.open.values() if proposal.due is not None]
        heapify(state.dues)
        state.tally = Tally.from_dict(whole["tally"])
        if state.config:
            state._set_rewards()
            config = state.config
            state._accounting = RewardAccounting(config["policy"], state.rewards, config["seed"], config["key"])
        return state

    def digest(self) -> str:
        """A hash of the state: equal for equal states, whether replayed from the log or from a snapshot."""
        text = json.dumps(self.snapshot(), sort_keys=True, separators=(",", ":"))
        return blake2b(text.encode(), digest_size=16).hexdigest()


def _newer(seq: int, what: str) -> LeagueError:
    """The error for a log that a later version has written."""
    return LeagueError("not-supported", f"event {seq} {what}: this log is newer than this program. Update matchbandit.")


_REQUIRED = (
    *("key", "kind", "sides", "rewards", "seed"),
    *("policy", "options", "selection", "deadline", "default", "no_rematch", "shadow"),
)
"""Fields that every version records of a new league."""
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
    "expired": State._told,  # a deadline sets the missing outcomes
    "archived": State._archived,
    "deleted": State._deleted,
    "restored": State._restored,
}
