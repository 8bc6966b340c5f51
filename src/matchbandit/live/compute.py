"""Slow computations in worker processes, with a time limit: a matching of many players holds the interpreter lock.

Quick ones run in the calling thread. What is estimated to take longer goes to a worker process, and what is estimated
to take longer than allowed is refused before it starts. The results are the same in all cases.
"""

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Condition
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from matchbandit.errors import MatchbanditError, check_float, check_int
from matchbandit.formatting import plural
from matchbandit.live.deciding import Decider, Inputs
from matchbandit.live.errors import LeagueError
from matchbandit.live.events import Draft
from matchbandit.live.model import Fit, FitInputs, assess_fit
from matchbandit.policies.catalogue import CATALOGUE
from matchbandit.solvers.constrained import MAX_EXACT_PLAYERS

QUICK_S = 0.05
"""Computations that are estimated to take no longer run in the calling thread."""
REFUSED_SHARE = 0.5
"""Of the time limit: what is estimated to take longer is refused, since other computations may run beside it."""
START_LIMIT_S = 60.0
"""A worker must be ready by then; it takes one or two seconds on an idle machine."""
LOW_PRIORITY = 5
"""The niceness of workers: requests that need no computation come first."""

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_T = TypeVar("_T")


# Estimates ------------------------------------------------------------------------------------------------------------
# Seconds of CPU on one core of an AMD EPYC: `python benchmarks/compute_costs.py`; typical weights, not the worst.

_BLOSSOM_PLAYERS = (50, 100, 200, 400, 800, 1200)
_BLOSSOM_SECONDS = (0.0024, 0.008, 0.031, 0.21, 4.0, 17.3)
"""A maximum-weight matching of all pairs of so many players (cts-beta)."""
_BLOSSOM_EXPONENT = 3.6
"""Beyond the largest that was measured: the slope of the last two."""
_BLOCKS_PER_PAIR_S = 1.0e-6
"""A matching of more than 300 players in blocks, by allowed pair (cts-beta with 100 exclusions; hostile exclusions)."""
_WEIGHT_PER_PAIR_S = 1.0e-7
"""The weight of a pair: its index or its draw."""
_CELL_S = 1.5e-7
"""An assignment of rows and columns, by cell."""
_ITEM_S = 1.0e-5
"""The strength of an item, fitted and drawn (rank1-thompson without rules)."""
_RULED_ITEM_S = 5.0e-6
"""The same, matched with near neighbours under a few rules for each item."""
_ROUND_PER_PAIR_S = 5.0e-5
"""A round of a policy that plays whole rounds (rank1-certify), by pair of items."""
_LIGHT_RULES = 8
"""With at most so many forbidden partners of each player, a matching among near neighbours in the order of strengths is
found at once."""
_FIT_S, _FIT_PER_ITEM_S, _FIT_PER_RESULT_S = 0.01, 6.0e-4, 4.0e-5
"""Testing whether the product model fits."""


def blossom_seconds(players: int) -> float:
    """The time of a maximum-weight matching of all pairs of so many players."""
    if players > _BLOSSOM_PLAYERS[-1]:
        return float(_BLOSSOM_SECONDS[-1] * (players / _BLOSSOM_PLAYERS[-1]) ** _BLOSSOM_EXPONENT)
    logs = np.interp(np.log(max(players, 1)), np.log(_BLOSSOM_PLAYERS), np.log(_BLOSSOM_SECONDS))
    return float(np.exp(logs))


def decision_seconds(inputs: Inputs) -> float:
    """The estimated time of a decision, with that of its shadow and of repeated draws for propensities."""
    draws: int = inputs.config.get("record_propensity", 0)
    total = _policy_seconds(inputs, inputs.config) * (1 + draws)
    if inputs.config["shadow"] is not None:
        total += _policy_seconds(inputs, inputs.config["shadow"])
    return total


def fit_seconds(inputs: FitInputs) -> float:
    """The estimated time of the test whether the product model fits."""
    return _FIT_S + _FIT_PER_ITEM_S * inputs.graph.n_items + _FIT_PER_RESULT_S * len(inputs.results.a)


def _policy_seconds(inputs: Inputs, named: Mapping[str, Any]) -> float:
    kind, today = CATALOGUE[named["policy"]], inputs.constraints
    if not kind.decides_from_counts:
        return _ROUND_PER_PAIR_S * _n_pairs(inputs)
    seconds = _ITEM_S * len(inputs.places)  # strengths are estimated whatever the policy
    by_rules = _rules_seconds(inputs)
    if today.bye_order is not None and by_rules > _RULED_ITEM_S * len(today.present):
        seconds += by_rules
    if kind.capabilities.any_size:
        return seconds + 2 * by_rules  # the decision, and the best guess that every proposal records beside it
    if kind.capabilities.max_matchings is None:
        seconds += _weights_seconds(inputs, named)
    return seconds + by_rules


def _n_pairs(inputs: Inputs) -> int:
    """Pairs of those who are there."""
    n, columns = len(inputs.constraints.present), int(inputs.sides[inputs.constraints.present - 1].sum())
    return (n - columns) * columns if inputs.two_sided else n * (n - 1) // 2


def _rules_seconds(inputs: Inputs) -> float:
    """A matching by strengths under the rules; without rules it is sorted."""
    forbidden, n = inputs.constraints.forbidden, len(inputs.constraints.present)
    if not len(forbidden):
        return 0.0
    if inputs.two_sided:
        return _CELL_S * _n_pairs(inputs)
    if int(np.bincount(forbidden.ravel()).max()) <= _LIGHT_RULES:
        return _RULED_ITEM_S * n
    return blossom_seconds(n) if n <= MAX_EXACT_PLAYERS else _BLOCKS_PER_PAIR_S * _n_pairs(inputs)


def _weights_seconds(inputs: Inputs, named: Mapping[str, Any]) -> float:
    """A weight for each pair of the graph, and the heaviest pair or matching."""
    rows, columns = inputs.on_side
    seconds = _WEIGHT_PER_PAIR_S * (rows * columns if inputs.two_sided else rows * rows / 2)
    if named["selection"] == "pair":
        return seconds
    n = len(inputs.constraints.present)
    if inputs.two_sided:
        return seconds + _CELL_S * _n_pairs(inputs)
    if n > MAX_EXACT_PLAYERS and (n < rows or len(inputs.constraints.forbidden)):
        return seconds + _BLOCKS_PER_PAIR_S * _n_pairs(inputs)
    return seconds + blossom_seconds(n)


# Tasks ----------------------------------------------------------------------------------------------------------------


def decide(inputs: Inputs) -> Draft:
    """A decision, in a process that knows nothing of the league but this."""
    return Decider().decide(inputs)


# Workers --------------------------------------------------------------------------------------------------------------


@dataclass
class _Worker:
    process: "subprocess.Popen[bytes]"
    connection: "Connection[Any, Any]"
    used_at: float

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def end(self) -> None:
        """Kill it: it may hold the interpreter lock for minutes, and hears nothing else."""
        self.connection.close()
        self.process.kill()
        self.process.wait()


class WorkerPool:
    """Worker processes for slow computations; they are started when they are needed, and end when they are idle.

    Parameters
    ----------
    size : int, default 2
        How many compute at the same time.
    time_limit : float, default 20
        Seconds that a computation may take; its worker is killed then.
    max_waiting : int, default 16
        Computations that may wait for a worker; more are refused at once.
    idle_seconds : float, default 60
        A worker that was idle for this long ends and frees its memory.
    """

    def __init__(
        self, *, size: int = 2, time_limit: float = 20.0, max_waiting: int = 16, idle_seconds: float = 60.0
    ) -> None:
        """No process is started yet."""
        self.size = check_int("size", size, minimum=1)
        self.max_waiting = check_int("max_waiting", max_waiting, minimum=0)
        self.time_limit, self.idle_seconds = (
            check_float(name, value) for name, value in (("time_limit", time_limit), ("idle_seconds", idle_seconds))
        )
        self._changed = Condition()
        self._idle: list[_Worker] = []
        self._busy: set[int] = set()
        """The tickets of computations that have a worker."""
        self._queue: deque[int] = deque()
        self._next_ticket = 0
        self._is_closed = False

    def is_quick(self, inputs: Inputs) -> bool:
        """True if this decision needs no worker."""
        return decision_seconds(inputs) <= QUICK_S

    def decide(self, decider: Decider, inputs: Inputs) -> Draft:
        """What `decider.decide(inputs)` gives: in this thread if that is quick, else by a worker.

        Raises
        ------
        LeagueError
            `compute-limit` if it is estimated to take too long, or does; `compute-busy` if too many wait.
        """
        seconds = decision_seconds(inputs)
        if seconds <= QUICK_S:
            return decider.decide(inputs)
        names = [inputs.config["policy"]]
        if inputs.config["shadow"] is not None:
            names.append(inputs.config["shadow"]["policy"])
        what = f"a decision of {' and '.join(names)} for {plural(len(inputs.constraints.present), 'item')}"
        return self.run(
            decide, inputs, what=what, seconds=seconds, hint=_hint(names, inputs.config.get("record_propensity", 0))
        )

    def fit(self, inputs: FitInputs) -> Fit:
        """What `assess_fit(inputs)` gives: in this thread if that is quick, else by a worker."""
        seconds = fit_seconds(inputs)
        if seconds <= QUICK_S:
            return assess_fit(inputs)
        what = f"the test of the product model with {plural(len(inputs.results.a), 'pair')}"
        return self.run(assess_fit, inputs, what=what, seconds=seconds, hint="Ask for the ranking instead.")

    def run(self, task: Callable[[Any], _T], argument: Any, *, what: str, seconds: float, hint: str) -> _T:
        """Run a task in a worker, and wait for its result.

        Parameters
        ----------
        task : callable
            A function of a module, with one argument that can be pickled.
        argument
            Its argument.
        what, hint : str
            What is computed, and what to do instead if it takes too long; for people.
        seconds : float
            The estimated time.

        Returns
        -------
        The result of the task.
        """
        if seconds > REFUSED_SHARE * self.time_limit:
            rounded = float(f"{seconds:.2g}")
            raise LeagueError(
                "compute-limit",
                f"{what} takes about {rounded:g} s, and at most {REFUSED_SHARE * self.time_limit:g} s are allowed "
                f"here. {hint}",
            )
        ticket = self._wait_for_turn(what)
        worker = None
        try:
            worker = self._take_idle() or _start(self.time_limit, self.idle_seconds)
            worker.connection.send((task, argument))
            if not worker.connection.poll(self.time_limit):
                raise LeagueError("compute-limit", f"{what} took longer than {self.time_limit:g} s. {hint}")
            status, result = worker.connection.recv()
            worker.used_at = time.monotonic()
        except (EOFError, OSError) as error:
            self._release(ticket, worker, is_usable=False)
            raise LeagueError("compute-limit", f"{what} ended early, perhaps for lack of memory. {hint}") from error
        except BaseException:
            self._release(ticket, worker, is_usable=False)
            raise
        self._release(ticket, worker, is_usable=True)
        if status == "league-error":
            raise LeagueError(*result)
        if status == "error":
            raise MatchbanditError(result)
        if status == "defect":
            raise ComputeError(f"{what} failed: {result}")
        return result  # type: ignore[no-any-return]

    def end_idle(self) -> None:
        """Clear away workers that have ended, or are about to, since they were idle for long."""
        oldest = time.monotonic() - 0.9 * self.idle_seconds
        with self._changed:
            ended = [worker for worker in self._idle if worker.used_at < oldest or not worker.is_alive]
            self._idle = [worker for worker in self._idle if worker not in ended]
        for worker in ended:
            worker.end()

    def close(self) -> None:
        """End all workers; what is being computed ends with an error."""
        with self._changed:
            self._is_closed = True
            workers, self._idle = self._idle, []
            self._changed.notify_all()
        for worker in workers:
            worker.end()

    def _wait_for_turn(self, what: str) -> int:
        """Wait for a worker, in the order of arrival, at most as long as a computation may take."""
        with self._changed:
            if len(self._queue) >= self.max_waiting and len(self._busy) >= self.size:
                raise _busy(what)
            ticket, self._next_ticket = self._next_ticket, self._next_ticket + 1
            self._queue.append(ticket)
            is_free = self._changed.wait_for(
                lambda: self._is_closed or (self._queue[0] == ticket and len(self._busy) < self.size), self.time_limit
            )
            self._queue.remove(ticket)
            self._changed.notify_all()
            if self._is_closed or not is_free:
                raise _busy(what)
            self._busy.add(ticket)
            return ticket

    def _take_idle(self) -> _Worker | None:
        self.end_idle()
        with self._changed:
            return self._idle.pop() if self._idle else None

    def _release(self, ticket: int, worker: _Worker | None, *, is_usable: bool) -> None:
        with self._changed:
            self._busy.discard(ticket)
            is_kept = is_usable and worker is not None and not self._is_closed
            if is_kept and worker is not None:
                self._idle.append(worker)
            self._changed.notify_all()
        if worker is not None and not is_kept:
            worker.end()


class ComputeError(RuntimeError):
    """A computation failed in its worker; the message says where."""


def _busy(what: str) -> LeagueError:
    return LeagueError("compute-busy", f"{what} found no free worker process. Try again in a moment.")


def _hint(policies: list[str], draws: int) -> str:
    slow = [name for name in policies if not CATALOGUE[name].capabilities.any_size]
    if slow:
        return f"Use rank1-thompson in place of {' and '.join(slow)}: it decides in milliseconds."
    if draws:
        return f"Set record_propensity below {draws}: each decision is repeated that often."
    return "Remove exclusions, or ask with fewer items available."


def _start(time_limit: float, idle_seconds: float) -> _Worker:
    """A new worker that has imported what it needs.

    Not by `multiprocessing`: that would import the main module of the program again, whatever it does when it is
    imported, and daemonic processes could not have workers.
    """
    here, there = multiprocessing.Pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", _FIRST_STEPS, str(there.fileno())], pass_fds=(there.fileno(),), stdin=subprocess.DEVNULL
    )
    there.close()
    worker = _Worker(process, here, time.monotonic())
    try:
        here.send((sys.path, time_limit, idle_seconds))
        if here.poll(START_LIMIT_S):
            here.recv()
            return worker
    except BaseException:
        worker.end()
        raise
    worker.end()
    raise _busy("a computation")


_FIRST_STEPS = """
import sys
from multiprocessing.connection import Connection
connection = Connection(int(sys.argv[1]))
sys.path[:], time_limit, idle_seconds = connection.recv()
from matchbandit.live.compute import work
work(connection, time_limit, idle_seconds)
"""


def work(connection: "Connection[Any, Any]", time_limit: float, idle_seconds: float) -> None:
    """The life of a worker: tasks one after the other, until none came for a while or the parent has gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends its workers
    os.nice(LOW_PRIORITY)
    with contextlib.suppress(EOFError, OSError):
        connection.send("ready")
        while connection.poll(idle_seconds):
            task, argument = connection.recv()
            signal.alarm(round(time_limit) + 5)  # ends it even if the parent was killed and nobody else can
            answer = _answer(task, argument)
            signal.alarm(0)
            connection.send(answer)


def _answer(task: Callable[[Any], Any], argument: Any) -> tuple[str, Any]:
    try:
        return "done", task(argument)
    except LeagueError as error:
        return "league-error", (error.code, str(error))
    except MatchbanditError as error:
        return "error", str(error)
    except Exception as error:
        frame = error.__traceback__
        while frame is not None and frame.tb_next is not None:
            frame = frame.tb_next
        place = "" if frame is None else f" at {frame.tb_frame.f_code.co_filename}:{frame.tb_lineno}"
        return "defect", f"{type(error).__name__}{place}"
