"""Three ways to play one run: round by round, from decision to decision, or in one compiled loop."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Protocol, get_args

import numpy as np

from matchbandit.compiled import compiled, inlined
from matchbandit.errors import MatchbanditError, unknown, warn_user
from matchbandit.fingerprint import is_compiled
from matchbandit.graphs import Edges
from matchbandit.plans import Tally
from matchbandit.plans.base import Cells
from matchbandit.policies import PlannedPolicy, Policy, RoundPolicy
from matchbandit.policies.round_policy import is_plain, no_such_edge
from matchbandit.problems import Problem
from matchbandit.rewards import Counts, Floats
from matchbandit.simulation.score import Score

Engine = Literal["auto", "step", "jump", "loop"]
Stop = Literal["first-split"]
StopCondition = Callable[[Policy], bool]
Observer = Callable[[Policy, Score], None]
"""Called between rounds: after every leap, after every stretch between checkpoints, or after every round. It sees the
policy and the score, and changes neither."""
MAX_ROUNDS_PER_CALL = 1_000_000
"""Of compiled code, which Ctrl-C cannot interrupt."""


class RewardSource(Protocol):
    """Pays for plays. All that an engine knows of rewards; tests replace it by prepared numbers."""

    def sums(self, edges: Edges, counts: Counts) -> Floats:
        """The sum of the next counts[k] rewards of the pair edges[k], for every k."""


@dataclass(frozen=True)
class DrawnRewards:
    """Rewards drawn from the problem's reward distribution."""

    problem: Problem | Score
    """The problem, or a score that knows the means of the next round where they change."""
    rng: np.random.Generator

    def sums(self, edges: Edges, counts: Counts) -> Floats:
        """Each sum in a single draw."""
        return self.problem.rewards.sums(self.problem.means_of(edges), counts, self.rng)


def no_observer(policy: Policy, score: Score) -> None:
    """Do nothing."""


def is_done(policy: Policy) -> bool:
    """Return whether identification is finished."""
    return policy.done


def has_split(policy: Policy) -> bool:
    """Return whether a cluster has split."""
    return bool(policy.splits)


def stop_condition(stop: Stop | None, policy: Policy) -> StopCondition:
    """Return what ends a run before its horizon; refuse a stop that the policy cannot reach."""
    if stop is None:
        return is_done
    if stop not in [*get_args(Stop)]:  # a list, for the value may not be hashable
        raise unknown("stop", stop, get_args(Stop))
    if not policy.capabilities.clusters:
        raise MatchbanditError(
            f"{policy.name} has no clusters that split; stop={stop!r} is for policies with clusters, such as "
            f"adaptive-matching."
        )
    return has_split


def choose_engine(wanted: Engine, policy: Policy) -> Engine:
    """Return the engine that plays this policy; refuse one that cannot."""
    if wanted not in get_args(Engine):
        raise unknown("engine", wanted, get_args(Engine))
    fast: Engine = "step"
    if isinstance(policy, PlannedPolicy):
        fast = "jump"
    elif isinstance(policy, RoundPolicy) and policy.compiled:
        fast = "loop"
    if wanted in ("auto", fast, "step"):
        return fast if wanted == "auto" else wanted
    why = "decides every round and has nothing to leap over" if wanted == "jump" else "plans, and is leapt over instead"
    if wanted == "loop" and not isinstance(policy, PlannedPolicy):
        why = f"has no compiled loop on {policy.graph}"
    others = "'auto' or 'step'" if fast == "step" else f"'auto', '{fast}' or 'step'"
    raise MatchbanditError(f"{policy.name} cannot {wanted}: it {why}. Use the engine {others}.")


# --- step ---


def step(
    policy: Policy,
    source: RewardSource,
    score: Score,
    stops: StopCondition = is_done,
    observe: Observer = no_observer,
) -> None:
    """Play one round at a time through ask and tell: slow, obvious, the reference."""
    while not (score.finished or stops(policy)):
        pairs = policy.ask()
        edges = policy.graph.edges(pairs)
        rewards = source.sums(edges, np.ones(len(edges), dtype=np.int64))
        policy.tell(pairs, rewards)
        score.count(1, edges, 1, rewards)
        observe(policy, score)


# --- jump ---


def jump(
    policy: PlannedPolicy,
    source: RewardSource,
    score: Score,
    stops: StopCondition = is_done,
    observe: Observer = no_observer,
) -> None:
    """Leap from decision to decision in whole sweeps: the cost depends on the decisions, not on the horizon."""
    while not (score.finished or stops(policy)):
        whole_sweeps = score.to_stop // policy.current.length
        if whole_sweeps:
            _leap(policy, source, score, whole_sweeps)
        else:
            _play_cut_sweep(policy, source, score)
        observe(policy, score)


def _leap(policy: PlannedPolicy, source: RewardSource, score: Score, max_sweeps: int) -> None:
    """Play as many sweeps at once as fit before the next decision."""
    plan = policy.current
    sweeps, counts = plan.leap(policy.pending, max_sweeps, policy.rng)
    cells = np.flatnonzero(counts)
    edges = plan.edges[cells]
    sums = np.zeros(len(counts))
    sums[cells] = source.sums(edges, counts[cells])
    score.count(sweeps * plan.length, edges, counts[cells], sums[cells])
    policy.advance(Tally(sweeps, counts, sums))


def _play_cut_sweep(policy: PlannedPolicy, source: RewardSource, score: Score) -> None:
    """Play one sweep in which stops lie: plays are counted up to each.

    Rewards are drawn for the sweep as a whole, or for each part with constant means.
    """
    plan = policy.current
    cells = plan.sweep(policy.pending.sweeps, policy.rng)
    rounds = min(len(cells), score.checkpoints[-1] - score.round)  # the horizon may cut the sweep
    sums = np.zeros(len(plan.edges))
    start, paid = 0, 0
    while start < rounds:
        end = min(rounds, start + score.to_stop)
        if score.means_change or end == rounds:
            _pay_for(plan.edges, cells[paid:end], source, score, sums)
            paid = end
        score.count(end - start, plan.edges[cells[start:end].ravel()], 1)
        start = end
    if rounds == len(cells):
        policy.advance(Tally(1, np.bincount(cells.ravel(), minlength=len(plan.edges)), sums))


def _pay_for(plan_edges: Edges, cells: Cells, source: RewardSource, score: Score, sums: Floats) -> None:
    """Draw the rewards of these rounds of a sweep, and add them to the sums of its cells and to the score."""
    counts = np.bincount(cells.ravel(), minlength=len(plan_edges))
    played = np.flatnonzero(counts)
    paid = source.sums(plan_edges[played], counts[played])
    sums[played] += paid
    score.count(0, plan_edges[played], 0, paid)


# --- loop ---


def loop(policy: RoundPolicy, source: DrawnRewards, score: Score, observe: Observer = no_observer) -> None:
    """Play in one compiled loop over the same functions that ask and tell call."""
    rewards = score.rewards
    play = _compiled_loop(type(policy), type(rewards).draw_one)
    if is_plain(type(policy)):
        warn_user(
            f"the functions of {policy.name} are plain Python: they can print, and are slow. "
            f"Decorate them with matchbandit.compiled.compiled once they work."
        )
    edges = np.zeros(policy.round_size, dtype=np.int64)
    while not (score.finished or policy.done):
        ends, snapshots = score.next_snapshots(MAX_ROUNDS_PER_CALL, one_only=observe is not no_observer)
        plays = score.plays if score.lists_all else np.zeros(policy.graph.n_pairs, dtype=np.int64)
        sums = score.sums if score.lists_all else np.zeros(policy.graph.n_pairs)
        means = score.next_means(len(ends))
        rounds, wrong = play(
            policy.numba_state, source.rng, rewards.noise, means, plays, sums, edges, ends, snapshots
        )  # fmt: skip
        policy.rounds += rounds
        if score.lists_all:
            score.advance(rounds)
        else:
            played = np.flatnonzero(plays)
            score.count(rounds, played, plays[played], sums[played])
        if wrong >= 0:
            raise no_such_edge(policy, edges[wrong])
        policy.settle()
        observe(policy, score)


def _make_loop(
    choose: Callable[..., None],
    update: Callable[..., None],
    finished: Callable[..., bool],
    draw_one: Callable[..., float],
) -> Callable[..., tuple[int, int]]:
    """A function that plays rounds with these functions, until it is finished or `ends[-1]` rounds are played.

    It adds to the `plays` of each pair and the `sums` of its rewards, and copies the plays to `snapshots[k]` after
    `ends[k]` rounds. Until then the means are those of row k, or of the last row. It returns the number of rounds, and
    the position of a chosen edge that does not exist, or −1.
    """

    def play(
        numba_state: Any,
        reward_rng: np.random.Generator,
        noise: Any,
        means: Floats,
        plays: Counts,
        sums: Floats,
        edges: Edges,
        ends: Counts,
        snapshots: Counts,
    ) -> tuple[int, int]:
        rewards = np.zeros(len(edges))
        n = 0
        for stretch in range(len(ends)):
            row = min(stretch, len(means) - 1)
            while n < ends[stretch]:
                if finished(numba_state.arrays):
                    return n, -1
                for k in range(len(edges)):
                    edges[k] = -1
                choose(numba_state.arrays, numba_state.rng, edges)
                for k in range(len(edges)):
                    if edges[k] < 0 or edges[k] >= means.shape[1]:
                        return n, k
                for k in range(len(edges)):
                    rewards[k] = draw_one(noise, means[row, edges[k]], reward_rng)
                    plays[edges[k]] += 1
                    sums[edges[k]] += rewards[k]
                update(numba_state.arrays, numba_state.rng, edges, rewards)
                n += 1
            if stretch < len(snapshots):
                for edge in range(len(plays)):
                    snapshots[stretch, edge] = plays[edge]
        return n, -1

    return play


@cache
def _compiled_loop(kind: type[RoundPolicy], draw_one: Callable[..., float]) -> Callable[..., tuple[int, int]]:
    """The loop of this policy with this way to draw a reward, compiled if the policy's functions are."""
    if not is_compiled(draw_one):  # that of a built-in distribution: `rewards` does not import numba
        draw_one = compiled(draw_one)
    if is_plain(kind):
        return _make_loop(kind.choose, kind.update, kind.finished, draw_one)
    return compiled(_make_loop(inlined(kind.choose), inlined(kind.update), inlined(kind.finished), inlined(draw_one)))
