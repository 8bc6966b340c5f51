"""Watch an algorithm think: one run, frame by frame, as numbers, a picture and a page that moves."""

import os
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from matchbandit.errors import MatchbanditError, check_int
from matchbandit.figures.film import Film, Frame
from matchbandit.figures.timeline import draw_film, write_film
from matchbandit.figures.watch_page import film_page
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
from matchbandit.watching.filming import film_of
from matchbandit.watching.recording import Recorder

if TYPE_CHECKING:
    from matchbandit.figures.matplotlib_renderer import Picture

MOST_ITEMS = 60
"""More could not be told apart in a picture."""
DEFAULT_FRAMES, MOST_FRAMES = 120, 1000


@dataclass(frozen=True)
class Watched:
    """One run, frame by frame."""

    film: Film

    @property
    def frames(self) -> tuple[Frame, ...]:
        """The moments that are shown, from before the first round to the end."""
        return self.film.frames

    def plot(self) -> "Picture":
        """The run as one picture, a matplotlib figure: its story, its regret, and four moments."""
        return draw_film(self.film)

    def save(self, path: str | os.PathLike[str]) -> tuple[Path, ...]:
        """Write the picture (.svg and .png) and the page (.html); `path` is their name without the ending."""
        return write_film(self.film, path)

    def page(self) -> str:
        """The page that moves, as HTML: one file that needs no network."""
        return film_page(self.film)

    def __repr__(self) -> str:
        """What was watched, and how it ended."""
        return f"<{self.film.title}, {len(self.frames)} frames: {self.frames[-1].sentence}>"

    def _repr_html_(self) -> str:
        """The picture and what happened, for notebooks."""
        drawn = b64encode(self.plot()._repr_png_()).decode()
        told = "".join(f"<li>{escape(frame.sentence)}</li>" for frame in self.frames if frame.event or frame.done)
        return (
            f'<figure><img width="760" alt="{escape(self.film.title, quote=True)}" src="data:image/png;base64,{drawn}">'
            f"<figcaption>{escape(self.film.lead)}</figcaption></figure><ol>{told}</ol>"
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
) -> Watched:
    """Play one run and look on: what the policy knows at each moment, and a sentence on what has just happened.

    The run is the first that `simulate` plays with this seed, or `identify` for a policy that seeks an answer (with
    `delta`, or made for it), to the last number.

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
        With delta: the share of the optimum that the answer may lack, as in `identify`.
    budget : int, optional
        The number of rounds, for a policy that identifies with a fixed budget.
    seed : int, default 0
        The root of all randomness.
    max_rounds : int, optional
        When to give up, for identification.
    frames : int
        How many moments to keep, evenly spread in log time; whatever happens (someone leaves, a cluster splits, a
        window ends, a link is certified) is always among them.
    out : str or path, optional
        Files to write, without their ending: a picture (.svg and .png) and a page that moves (.html).
    progress : callable, optional
        It is called with the rounds played and the horizon.

    Returns
    -------
    Watched
        The frames, each with a sentence.

    Examples
    --------
    >>> from matchbandit.problems import Bipartite
    >>> seen = watch(Bipartite([.9, .3], [.8, .4]), "pair-elim", horizon=10**6, seed=1)
    >>> seen.frames[-1].round, seen.frames[0].sentence
    (1000000, 'Before the first round: 2 rows and 2 columns, and nothing is known of them.')
    """
    spec = policy if isinstance(policy, PolicySpec) else named(policy)
    budget = check_budget(spec, budget, delta=delta, max_rounds=max_rounds)
    spec = with_precision(spec, delta, epsilon)
    goal = spec.kind.goal_with(spec.options)
    spec, _, _, seed = check_call("watch", problem, spec, 1, 1, seed, goal)
    frames = check_int("frames", frames, minimum=2, maximum=MOST_FRAMES, hint="So many moments are shown.")
    _refuse_too_many(problem.graph)
    if goal == "regret":
        job, limit = _to_minimise_regret(problem, spec, seed, horizon, max_rounds)
    else:
        job, limit = _to_identify(problem, spec, seed, horizon, max_rounds, budget)
    first = build_first(job).policy
    job = replace(job, engine=choose_engine("auto", first))
    moments = log_spaced(limit, (2 if goal == "regret" else 6) * frames)
    if job.engine != "jump":  # whose numbers do not depend on where one looks
        job = replace(job, checkpoints=np.union1d(job.checkpoints, moments))
    recorder = Recorder(
        moments.tolist(), (lambda played: progress(played, limit)) if progress and goal == "regret" else None
    )
    played, score = job.play(0, recorder)
    caption = _caption(score.problem, played, limit, seed)
    watched = Watched(film_of(recorder.looks, played, score.problem, frames=frames, caption=caption))
    if out is not None:
        watched.save(out)
    return watched


def _refuse_too_many(graph: Graph) -> None:
    if graph.n_items > MOST_ITEMS:
        raise MatchbanditError(
            f"watch shows at most {MOST_ITEMS} items; {graph} has {graph.n_items}. "
            f"Use a smaller problem of the same kind."
        )


def _to_minimise_regret(
    problem: Problem | Family, spec: PolicySpec, seed: int, horizon: int | None, max_rounds: int | None
) -> tuple[Job, int]:
    """The job that `simulate` would play: with the same checkpoints, at which leaps end."""
    if horizon is None:
        raise MatchbanditError(f"watching {spec.name} needs a horizon: give horizon= (--horizon), such as 10**6.")
    if max_rounds is not None:
        raise MatchbanditError(f"max_rounds is for identification; {spec.name} plays to its horizon. Leave it out.")
    horizon = check_horizon(horizon)
    return Job(problem, spec, log_spaced(horizon), seed, "auto", horizon), horizon


def _to_identify(
    problem: Problem | Family,
    spec: PolicySpec,
    seed: int,
    horizon: int | None,
    max_rounds: int | None,
    budget: int | None,
) -> tuple[Job, int]:
    """The job that `identify` would play."""
    if horizon is not None:
        fixed = spec.kind.capabilities.fixed_budget
        limits = "budget (--budget) instead" if fixed else "max_rounds (--max-rounds) as a limit"
        raise MatchbanditError(
            f"{spec.name} is for identification here and ends with its answer: leave horizon out, or give {limits}."
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
