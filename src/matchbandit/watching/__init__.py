"""Record one run of a policy: frames of numbers, a picture, and a page that plays the run back."""

import os
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from matchbandit.errors import MatchbanditError, check_int
from matchbandit.figures.panels import Playback
from matchbandit.figures.playback_files import draw_playback, write_playback
from matchbandit.figures.playback_page import playback_page
from matchbandit.formatting import grouped
from matchbandit.graphs import Graph
from matchbandit.policies import Policy, PolicySpec
from matchbandit.policies import policy as named
from matchbandit.policies.catalogue import check_horizon
from matchbandit.problems import Family, Problem
from matchbandit.simulation.engines import choose_engine
from matchbandit.simulation.identify import check_budget, last_round, refuse_tie, with_precision
from matchbandit.simulation.play import Job, build_first, check_call
from matchbandit.simulation.simulate import log_spaced
from matchbandit.watching.assembly import assemble
from matchbandit.watching.description import describe
from matchbandit.watching.recorder import Recorder
from matchbandit.watching.recording import Frame, Recording

if TYPE_CHECKING:
    from matchbandit.figures.matplotlib_renderer import Picture

MAX_ITEMS_SHOWN = 60
"""More are not distinguishable in a picture."""
DEFAULT_FRAMES, MAX_FRAMES = 120, 1000


@dataclass(frozen=True)
class WatchedRun:
    """One recorded run, and ways to show it."""

    recording: Recording

    @property
    def frames(self) -> tuple[Frame, ...]:
        """The recorded moments, from before the first round to the end."""
        return self.recording.frames

    @cached_property
    def playback(self) -> Playback:
        """The description that picture and page are rendered from."""
        return describe(self.recording)

    def plot(self) -> "Picture":
        """Return the run as one picture, a matplotlib figure."""
        return draw_playback(self.playback)

    def save(self, path: str | os.PathLike[str]) -> tuple[Path, ...]:
        """Write the picture (.svg and .png) and the page (.html); `path` is their name without a suffix."""
        return write_playback(self.playback, path)

    def page(self) -> str:
        """Return the page that plays the run back: one HTML file that needs no network."""
        return playback_page(self.playback)

    def __repr__(self) -> str:
        """Return the title and how the run ended."""
        return f"<{self.recording.title}, {len(self.frames)} frames: {self.frames[-1].sentence}>"

    def _repr_html_(self) -> str:
        """Return the picture and the events, for notebooks."""
        image = b64encode(self.plot()._repr_png_()).decode()
        events = "".join(f"<li>{escape(frame.sentence)}</li>" for frame in self.frames if frame.event or frame.done)
        title, lead = escape(self.recording.title, quote=True), escape(self.recording.lead)
        return (
            f'<figure><img width="760" alt="{title}" src="data:image/png;base64,{image}">'
            f"<figcaption>{lead}</figcaption></figure><ol>{events}</ol>"
        )


def watch(
    problem: Problem | Family,
    policy: PolicySpec | str,
    *,
    horizon: int | None = None,
    delta: float | None = None,
    epsilon: float | None = None,
    budget: int | None = None,
    seed: int = 0,
    max_rounds: int | None = None,
    frames: int = DEFAULT_FRAMES,
    out: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> WatchedRun:
    """Play one run and record what the policy knows at each moment, with a sentence about what has just happened.

    The run is the first one of `simulate` with this seed, or of `identify` for a policy that identifies (because of
    `delta`, or by design), with exactly the same numbers.

    Parameters
    ----------
    problem : Problem or Family
        The problem to play on.
    policy : PolicySpec or str
        The policy to watch.
    horizon : int, optional
        The number of rounds, for regret.
    delta : float, optional
        The error probability, for identification.
    epsilon : float, optional
        With delta: the share of the optimum that the answer may lose, as in `identify`.
    budget : int, optional
        The number of rounds, for a policy that identifies with a fixed budget.
    seed : int, default 0
        The root of all randomness.
    max_rounds : int, optional
        The round after which identification gives up.
    frames : int
        The number of moments to keep, evenly spread in log time. Events (an elimination, a split, the end of a window,
        a certificate) are always kept.
    out : str or path, optional
        Files to write, without a suffix: a picture (.svg and .png) and a page that plays the run back (.html).
    progress : callable, optional
        Called with the rounds played and the horizon.

    Returns
    -------
    WatchedRun
        The frames, each with a sentence; it draws a picture and writes a page.

    Examples
    --------
    >>> from matchbandit.problems import Bipartite
    >>> run = watch(Bipartite([.9, .3], [.8, .4]), "pair-elim", horizon=10**6, seed=1)
    >>> run.frames[-1].round, run.frames[0].sentence
    (1000000, 'Before the first round: 2 rows and 2 columns, and nothing is known about them.')
    """
    spec = policy if isinstance(policy, PolicySpec) else named(policy)
    budget = check_budget(spec, budget, delta=delta, max_rounds=max_rounds)
    spec = with_precision(spec, delta, epsilon)
    goal = spec.kind.goal_with(spec.options)
    spec, _, _, seed = check_call("watch", problem, spec, 1, 1, seed, goal)
    frames = check_int("frames", frames, minimum=2, maximum=MAX_FRAMES, hint="It is the number of moments shown.")
    _check_size(problem.graph)
    if goal == "regret":
        job, limit = _regret_job(problem, spec, seed, horizon, max_rounds)
    else:
        job, limit = _identification_job(problem, spec, seed, horizon, max_rounds, budget)
    first = build_first(job).policy
    job = replace(job, engine=choose_engine("auto", first))
    moments = log_spaced(limit, (2 if goal == "regret" else 6) * frames)
    if job.engine != "jump":  # whose numbers do not depend on when they are recorded
        job = replace(job, checkpoints=np.union1d(job.checkpoints, moments))
    recorder = Recorder(
        moments.tolist(), (lambda played: progress(played, limit)) if progress and goal == "regret" else None
    )
    played, score = job.play(0, recorder)
    caption = _caption(score.problem, played, limit, seed)
    run = WatchedRun(assemble(recorder.snapshots, played, score.problem, frames=frames, caption=caption))
    if out is not None:
        run.save(out)
    return run


def _check_size(graph: Graph) -> None:
    if graph.n_items > MAX_ITEMS_SHOWN:
        raise MatchbanditError(
            f"watch supports at most {MAX_ITEMS_SHOWN} items; {graph} has {graph.n_items}. "
            f"Use a smaller problem of the same kind."
        )


def _regret_job(
    problem: Problem | Family, spec: PolicySpec, seed: int, horizon: int | None, max_rounds: int | None
) -> tuple[Job, int]:
    """Return the job that `simulate` would play, with the same checkpoints, at which leaps end."""
    if horizon is None:
        raise MatchbanditError(f"watching {spec.name} needs a horizon: give horizon= (--horizon), such as 10**6.")
    if max_rounds is not None:
        raise MatchbanditError(f"max_rounds is for identification; {spec.name} plays to its horizon. Leave it out.")
    horizon = check_horizon(horizon)
    return Job(problem, spec, log_spaced(horizon), seed, "auto", horizon), horizon


def _identification_job(
    problem: Problem | Family,
    spec: PolicySpec,
    seed: int,
    horizon: int | None,
    max_rounds: int | None,
    budget: int | None,
) -> tuple[Job, int]:
    """Return the job that `identify` would play."""
    if horizon is not None:
        fixed = spec.kind.capabilities.fixed_budget
        limits = "budget (--budget) instead" if fixed else "max_rounds (--max-rounds) as a limit"
        raise MatchbanditError(
            f"{spec.name} identifies here and ends with its answer: leave horizon out, or give {limits}."
        )
    job = Job(problem, spec, np.array([1]), seed, "auto", budget)
    first = build_first(job).policy
    limit = budget or last_round(first, max_rounds)
    if max_rounds is None and budget is None and not first.capabilities.epsilon_in(first.options):
        refuse_tie(problem.draw(seed, 0) if isinstance(problem, Family) else problem, first.answer_selection)
    return replace(job, checkpoints=np.array([limit])), limit


def _caption(problem: Problem, policy: Policy, limit: int, seed: int) -> str:
    epsilon = policy.capabilities.epsilon_in(policy.options)
    parts = [
        f"horizon {grouped(limit)}" if policy.goal == "regret" else "",
        f"budget {grouped(limit)}" if policy.capabilities.fixed_budget else "",
        f"δ = {policy.options['delta']:g}" if policy.options.get("delta") is not None else "",
        f"ε = {epsilon:g}" if epsilon else "",
        f"seed {seed}",
    ]
    return f"{problem!r}; {', '.join(filter(None, parts))}, one run"
