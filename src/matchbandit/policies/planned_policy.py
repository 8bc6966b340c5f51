"""Policies that decide only now and then: a plan, and what they learn from its tally."""

from abc import abstractmethod
from collections.abc import Callable
from copy import deepcopy
from dataclasses import asdict, is_dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from matchbandit.confidence import NEVER
from matchbandit.graphs import Edges
from matchbandit.plans import Plan, Tally
from matchbandit.plans.base import Cells
from matchbandit.policies.base import Policy, Setting
from matchbandit.rewards import Floats


class PlannedPolicy(Policy):
    """A policy written as two methods, `plan` and `learn`; this class turns them into ask and tell.

    `plan` depends on nothing but what is remembered, and draws nothing: a restored policy makes the same plan again.
    A pair that did not take place is played again: its round is asked once more, and of it only the missing rewards
    are booked, so that the schedule stays balanced.
    """

    state_fields: ClassVar[tuple[str, ...]]
    """The attributes that change while learning: numbers, arrays, lists or dataclasses of them, or another planned
    policy that this one holds."""

    def __init__(self, setting: Setting, rng: np.random.Generator, **options: Any) -> None:
        """Start without a plan: it is made when it is first needed."""
        super().__init__(setting, rng, **options)
        self._plan: Plan | None = None
        self._pending = Tally.empty(0)
        self._sweep: Cells | None = None
        self._received: list[Floats] = []
        self._partial: Floats | None = None

    @abstractmethod
    def plan(self) -> Plan:
        """What I shall play until my next decision."""

    @abstractmethod
    def learn(self, tally: Tally) -> None:
        """Counts and sums of the plan that has just ended: eliminate, split, stop."""

    def warm_start(self, pairs: ArrayLike, counts: ArrayLike, sums: ArrayLike) -> None:
        """Begin with results from before; a plan that was looked at already is made anew."""
        super().warm_start(pairs, counts, sums)
        self._plan = None

    def follow(self, tally: Tally, rounds: int) -> None:
        """Learn from the plan in force, which a policy that holds this one has played; `rounds` were told."""
        self.rounds = rounds
        self.learn(tally)
        self._plan = None

    @property
    def current(self) -> Plan:
        """The plan in force."""
        if self._plan is None:
            self._plan = self.plan()
            self._pending = Tally.empty(len(self._plan.edges))
        return self._plan

    @property
    def plan_is_over(self) -> bool:
        """Has the policy just learnt from its last plan, or not started one?"""
        return self._plan is None

    @property
    def pending(self) -> Tally:
        """What the plan in force has brought so far, in whole sweeps."""
        return self._pending if self._plan is not None else Tally.empty(len(self.current.edges))

    @property
    def finished(self) -> bool:
        """Is identification finished, by what is known now? False for a policy that is for regret only."""
        return False

    def advance(self, sweeps: Tally) -> None:
        """Play whole sweeps of the current plan at once: this is what they brought."""
        self.rounds += sweeps.sweeps * self.current.length
        self._pending.add(sweeps)
        self._decide_if_due()
        self.settle()

    def _snapshot(self) -> Callable[[], None]:
        """Restore the results of the open sweep, too, and, where it ends, all that `learn` may change in place."""
        restore_attributes = super()._snapshot()
        received, n_received = self._received, len(self._received)
        ends_sweep = self._sweep is None or n_received + 1 >= len(self._sweep)
        fields = {name: getattr(self, name) for name in self.state_fields} if ends_sweep else {}
        nested = [field._snapshot() for field in fields.values() if isinstance(field, PlannedPolicy)]
        changing = {name: deepcopy(field) for name, field in fields.items() if not isinstance(field, PlannedPolicy)}
        pending = self._pending.copy() if ends_sweep else self._pending

        def rollback() -> None:
            restore_attributes()
            for restore in nested:
                restore()
            del received[n_received:]
            self._pending = pending
            self.__dict__.update(changing)

        return rollback

    def _next(self) -> Edges:
        plan = self.current
        if self._sweep is None:
            self._sweep = plan.sweep(self._pending.sweeps, self.rng)
        return np.asarray(plan.edges[self._sweep[len(self._received)]])

    def _receive(self, edges: Edges, rewards: Floats) -> bool:
        if self._partial is not None:
            rewards = np.where(np.isnan(self._partial), rewards, self._partial)
        if np.isnan(rewards).any():
            self._partial = rewards
            return False
        self._partial = None
        self._received.append(rewards)
        if self._sweep is not None and len(self._received) == len(self._sweep):
            np.add.at(self._pending.counts, self._sweep, 1)
            np.add.at(self._pending.sums, self._sweep, np.array(self._received))
            self._pending.sweeps += 1
            self._sweep, self._received = None, []
            self._decide_if_due()
            return self.finished
        return False

    def _is_finished(self) -> bool:
        return self.finished

    def _decide_if_due(self) -> None:
        if self.current.due(self._pending):
            self.learn(self._pending)
            self._plan = None

    def _missing(self) -> Edges:
        if self._partial is None:
            return super()._missing()
        return self._next()[np.isnan(self._partial)]

    def next_check(self) -> dict[str, Any] | None:
        """When the policy decides again, for `explain`; None once it is done."""
        if self.done:
            return None
        plan = self.current
        left = plan.limit - self.pending.sweeps if plan.limit < NEVER // 2 else None
        return {"after_sweeps_at_most": left, "rounds_a_sweep": plan.length}

    def _memory(self) -> dict[str, Any]:
        return {
            "pending": asdict(self.pending),
            "sweep": self._sweep,
            "received": self._received,
            "partial": self._partial,
            **{name: _plain(getattr(self, name)) for name in self.state_fields},
        }

    def _remember(self, memory: dict[str, Any]) -> None:
        self._restore(memory)
        self._plan = self.plan()
        self._pending = Tally(**memory["pending"])
        self._sweep = memory["sweep"]
        self._received = memory["received"]
        self._partial = memory["partial"]

    def _restore(self, memory: dict[str, Any]) -> None:
        """Set what is remembered."""
        self._plan = None
        for name in self.state_fields:
            now = getattr(self, name)
            if isinstance(now, PlannedPolicy):
                now._restore(memory[name])
            else:
                kind = type(now)
                setattr(self, name, kind(**memory[name]) if is_dataclass(kind) else memory[name])


def _plain(value: Any) -> Any:
    if isinstance(value, PlannedPolicy):
        return {name: _plain(getattr(value, name)) for name in value.state_fields}
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
