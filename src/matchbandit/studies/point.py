"""One policy with options, on one problem, at one horizon, δ or budget: one call of `simulate` or `identify`."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np

from matchbandit.errors import MatchbanditError
from matchbandit.formatting import float_text, grouped
from matchbandit.policies import Policy, PolicySpec
from matchbandit.policies.capabilities import Goal
from matchbandit.policies.catalogue import name_to_find
from matchbandit.problems import Drifting, Family, Problem
from matchbandit.problems.drifting import refuse_drifting
from matchbandit.problems.families import function_of
from matchbandit.results import Identification, Runs
from matchbandit.results.tables import MAX_LISTED, parameters_of
from matchbandit.simulation import identify, simulate
from matchbandit.simulation.engines import Engine, Stop, choose_engine, stop_condition
from matchbandit.simulation.play import Job, build_first
from matchbandit.studies.sweeps import plain_lists
from matchbandit.user_code import is_user_defined, module_of

SIGNS = {"delta": "δ", "epsilon": "ε"}
"""How captions and tables write these settings."""
MAX_TEXT = 60
"""Letters of a value in a label; longer ones are cut."""


@dataclass(frozen=True, eq=False)
class Point:
    """One policy with options, on one problem, at one horizon, δ or budget."""

    study: str
    """The name of the study that it belongs to."""
    problem: Problem | Family
    spec: PolicySpec
    """The policy, with `delta` and `epsilon` among its options where they are given."""
    seed: int
    horizon: int | None = None
    delta: float | None = None
    budget: int | None = None
    checkpoints: tuple[int, ...] | None = None
    max_rounds: int | None = None
    stop: Stop | None = None
    engine: Engine = "auto"
    settings: dict[str, Any] = field(default_factory=dict)
    """The values of what varies in the study: `gap`, `horizon`, `pair-elim.growth`, …"""

    @property
    def goal(self) -> Goal:
        """Regret, or identification."""
        return "regret" if self.horizon is not None else "identification"

    @property
    def known_rounds(self) -> int | None:
        """The number of rounds that the policy knows: its horizon or its budget."""
        return self.horizon if self.budget is None else self.budget

    @property
    def label(self) -> str:
        """The policy, with those of its options that vary: `pair-elim, growth = 1.05`."""
        own = self._of_policy
        told = [f"{option} = {value_text(value, MAX_TEXT)}" for option, value in own.items()]
        return ", ".join([self.spec.name, *told])

    @property
    def place(self) -> str:
        """The problem, horizon or δ as far as they vary: `gap = 0.5, horizon = 100000`; empty if nothing does."""
        others = {key: value for key, value in self.settings.items() if not key.startswith(f"{self.spec.name}.")}
        told = {key: value_text(value, MAX_TEXT) for key, value in others.items()}
        return ", ".join(words if key == "problem" else f"{key} = {words}" for key, words in told.items())

    @property
    def title(self) -> str:
        """Label and place: `uts at gap = 0.5`."""
        return f"{self.label} at {self.place}" if self.place else self.label

    def describe(self) -> dict[str, Any]:
        """All that determines its numbers, as plain data, and nothing else: not the runs, not the study's name."""
        options = {**self.spec.kind.option_defaults(), **self.spec.options, **self._options_built}
        parts = {
            "problem": self.problem.describe(),
            "policy": name_to_find(self.spec.kind),
            "options": {key: _plain_option(key, value) for key, value in options.items() if key != "delta"},
            "horizon": self.horizon,
            "delta": self.delta,
            "budget": self.budget,
            "checkpoints": None if self.checkpoints is None else list(self.checkpoints),
            "max_rounds": self.max_rounds,
            "stop": self.stop,
            "engine": self.engine,
            "seed": self.seed,
        }
        return {key: value for key, value in parts.items() if value is not None}

    @cached_property
    def key(self) -> str:
        """16 hex digits that stand for `describe()`: the same for the same numbers, in any study."""
        text = json.dumps(self.describe(), sort_keys=True, separators=(",", ":"))
        return blake2b(text.encode(), digest_size=8).hexdigest()

    @property
    def row_identity(self) -> str:
        """What its rows say of where they come from; no two points of a study may have the same."""
        problem = self.problem.describe()
        parameters = {name: value for name, value in parameters_of(problem).items() if np.size(value) <= MAX_LISTED}
        told = [self.spec.name, self._options_built, problem.get("family"), parameters, problem["rewards"]]
        return json.dumps([*told, self.horizon, self.delta, self.budget], sort_keys=True)

    @property
    def own_parts(self) -> dict[str, Any]:
        """Its policy's class and its family's function, by their names `module:name`, if they are the user's own."""
        parts: dict[str, Any] = {name_to_find(self.spec.kind): self.spec.kind}
        start = self.problem.problem if isinstance(self.problem, Drifting) else self.problem
        if isinstance(start, Family):
            parts[start.name] = function_of(start.name)
        return {name: part for name, part in parts.items() if is_user_defined(name)}

    @property
    def own_modules(self) -> tuple[str, ...]:
        """The user's own modules that its policy and its family come from."""
        return tuple(dict.fromkeys(map(module_of, self.own_parts)))

    def check(self) -> None:
        """Build the policy on the first instance: what cannot be played is refused before anything runs."""
        if self.goal == "identification":
            refuse_drifting("identification", self.problem, "Give a horizon in place of delta or budget.")
        first = self._built()
        stop_condition(self.stop, first)
        choose_engine(self.engine, first)
        if self.delta is not None and self.max_rounds is None and not first.capabilities.epsilon_in(first.options):
            problem = self.problem.draw(self.seed) if isinstance(self.problem, Family) else self.problem
            tie = problem.tie(first.answer_selection)
            if tie is not None:
                hint = "Give max_rounds, or make them different."
                raise MatchbanditError(f"{tie}, and no number of samples tells them apart. {hint}")

    def play(
        self, first_run: int, runs: int, *, tell: Callable[[int, int], None] | None = None
    ) -> Runs | Identification:
        """Play these runs in this process; `tell` is called with the number of runs done and their total."""
        if self.goal == "regret":
            return simulate(
                self.problem,
                self.spec,
                horizon=self.horizon or 1,
                runs=runs,
                seed=self.seed,
                engine=self.engine,
                checkpoints=self.checkpoints,
                stop=self.stop,
                progress=tell,
                first_run=first_run,
            )
        return identify(
            self.problem,
            self.spec,
            budget=self.budget,
            runs=runs,
            seed=self.seed,
            max_rounds=self.max_rounds,
            engine=self.engine,
            progress=tell,
            first_run=first_run,
        )

    def _built(self) -> Policy:
        """The policy of the first run, before its first round."""
        last = self.known_rounds or self.max_rounds or 1
        job = Job(self.problem, self.spec, np.array([last]), self.seed, self.engine, self.known_rounds, self.stop)
        return build_first(job).policy

    @cached_property
    def _options_built(self) -> dict[str, Any]:
        """The options that the policy says it has, which are those in its rows: `selection` is chosen by now."""
        return {key: _plain_option(key, value) for key, value in self._built().options.items()}

    @property
    def _of_policy(self) -> dict[str, Any]:
        prefix = f"{self.spec.name}."
        return {key.removeprefix(prefix): value for key, value in self.settings.items() if key.startswith(prefix)}

    def __repr__(self) -> str:
        """Study, policy and place."""
        return f"<Point {self.key} of {self.study}: {self.title}>"


def _plain_option(name: str, value: Any) -> Any:
    """The option as plain data, if it can be."""
    kept = plain_lists(value)
    try:
        json.dumps(kept)
    except (TypeError, ValueError):
        raise MatchbanditError(
            f"the option {name} must be a number, a text, true or false, or a list of these, or no file could keep it; "
            f"got {value!r}."
        ) from None
    return kept


def value_text(value: Any, max_length: int | None = None) -> str:
    """Format a setting; a text longer than `max_length` is cut at a space.

    >>> value_text(0.5), value_text(100_000), value_text(True), value_text([0.9, 0.3])
    ('0.5', '100,000', 'true', '0.9 0.3')
    >>> value_text([0.9, 0.8, 0.7, 0.6], 10)
    '0.9 0.8 …'
    """
    if max_length is not None:
        text = value_text(value)
        return text if len(text) <= max_length else f"{text[:max_length].rsplit(' ', 1)[0]} …"
    if value is None or isinstance(value, bool):
        return {None: "none", True: "true", False: "false"}[value]
    if isinstance(value, list | tuple):
        is_nested = any(isinstance(each, list | tuple) for each in value)
        return (" / " if is_nested else " ").join(map(value_text, value))
    if isinstance(value, float):
        return float_text(float(f"{value:.12g}"))
    return grouped(value) if isinstance(value, int) else str(value)
