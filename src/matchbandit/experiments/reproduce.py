"""The paper's figures from scratch: studies, pictures with the published numbers laid over, claims and verdicts."""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from matchbandit.errors import MatchbanditError, unknown, whole_number
from matchbandit.experiments import beyond, comparison
from matchbandit.experiments.claims import Claim, gap_claims, published_claim, u1_claims
from matchbandit.experiments.matching_claims import agreement_claim, mean_claims, practical_claims, size_claims
from matchbandit.experiments.studies import STUDIES, run_study
from matchbandit.extras import need
from matchbandit.figures import DRAWINGS, draw
from matchbandit.figures import beyond as pictures_beyond
from matchbandit.figures import comparison as pictures_of_comparison
from matchbandit.figures.page import write_page
from matchbandit.results import Row

FIGURES: dict[str, tuple[str, ...]] = {
    "fig1-top": ("over-time",),
    "fig1-bottom": ("over-gap", "over-gap-as-printed"),
    "u1-regret": ("over-u1",),
    "u1-ratio": ("over-u1",),
    "delta-ratio": ("over-gap", "over-gap-as-printed"),
    "fig2": ("over-n",),
    "fig3-top": ("over-mu",),
    "fig3-bottom": ("over-mu",),
}
"""The paper's figures, and the studies behind each."""

BY_NAME: dict[str, tuple[str, ...]] = {"practical": ("practical",)}
"""Figures from studies that the paper does not have; drawn when they are named."""


class Beyond(NamedTuple):
    """A figure that the paper does not have, on a claim that it makes or leaves open."""

    rows: Callable[..., list[Any]]
    claims: Callable[[list[Any]], list[Claim]]
    drawing: Callable[..., None]
    parts: int


BEYOND: dict[str, Beyond] = {
    "windows": Beyond(beyond.window_rows, beyond.window_claims, pictures_beyond.windows, 2 * len(beyond.HORIZONS)),
    "growth": Beyond(beyond.growth_rows, beyond.growth_claims, pictures_beyond.growth, 2 * len(beyond.GROWTHS)),
    "identification": Beyond(
        beyond.identification_rows,
        beyond.identification_claims,
        pictures_beyond.identification,
        2 * sum(len(sizes) * len(deltas) for sizes, deltas in beyond.identification_parts().values()),
    ),
    "comparison": Beyond(
        comparison.comparison_rows,
        comparison.comparison_claims,
        pictures_of_comparison.comparison,
        2 * len(comparison.THIRDS) * len(comparison.RATIOS),
    ),
    "evaluations": Beyond(
        comparison.evaluation_rows,
        comparison.evaluation_claims,
        pictures_of_comparison.evaluations,
        len(comparison.SEEKERS) * len(comparison.SIZES),
    ),
}

DEFAULT_RUNS, ENOUGH_RUNS = 100, 20
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Reproduction:
    """What `reproduce` has made."""

    claims: list[Claim]
    pictures: list[Path]
    page: Path


def published() -> dict[str, Any]:
    """The numbers behind the published figures, with their source."""
    text = files("matchbandit.experiments").joinpath("published.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def reproduce(
    figures: Sequence[str] | str = (),
    *,
    runs: int = DEFAULT_RUNS,
    seed: int = 0,
    out: str | os.PathLike[str] = "reproduction",
    workers: int | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Draw the paper's figures into the folder `out`, and judge its claims.

    By default all of the paper's; by name also those beyond it: practical, windows, growth, identification,
    comparison, evaluations.

    Every run plays an instance of its own, drawn from the seed; policies share their instances. Finished parts of the
    paper's figures and of practical are kept in `out`, so that an interrupted call is continued by the next; the others
    start anew. `progress` is called with the name of the study at work, the runs done and their total.
    """
    figures = [figures] if isinstance(figures, str) else figures
    from_studies = {**FIGURES, **BY_NAME}
    for name in figures:
        if name not in (*from_studies, *BEYOND):
            raise unknown("figure", name, [*from_studies, *BEYOND])
    runs = whole_number("runs", runs, least=1)
    seed = whole_number("seed", seed, least=0)
    workers = whole_number("workers", (os.cpu_count() or 1) if workers is None else workers, least=1)
    wanted = [name for name in from_studies if name in (figures or FIGURES)]
    needed = [study for study in STUDIES if any(study in from_studies[name] for name in wanted)]
    need("matplotlib", "drawing")
    need("pyarrow", "keeping results")
    folder = _folder(out)
    further = [name for name in BEYOND if name in figures]
    parts = sum(len(STUDIES[study].parts) for study in needed) + sum(BEYOND[name].parts for name in further)
    total, done, at = parts * runs, 0, ""

    def advance(more: int) -> None:
        nonlocal done
        done += more
        if progress:
            progress(at, done, total)

    rows: list[Row] = []
    for at in needed:
        rows += run_study(STUDIES[at], runs=runs, seed=seed, workers=workers, folder=folder / "runs", progress=advance)
    known = published()
    claims = judge(rows, known, needed)
    drawings: dict[str, Callable[[Any], None]] = {
        name: partial(DRAWINGS[name], rows=rows, published=known) for name in wanted
    }
    for at in further:
        figure = BEYOND[at]
        its_rows = figure.rows(runs, seed, workers, advance)
        claims += figure.claims(its_rows)
        drawings[at] = partial(figure.drawing, rows=its_rows)
    at = "drawing"
    advance(0)
    pictures = [draw(name, drawing, folder) for name, drawing in drawings.items()]
    if runs < ENOUGH_RUNS:
        claims = [replace(claim, verdict=f"not judged: fewer than {ENOUGH_RUNS} runs") for claim in claims]
    page = write_page(
        folder / "index.html", pictures, claims, note=f"{runs} runs a point, seed {seed}", source=known["source"]
    )
    return Reproduction(claims, pictures, page)


def kept_of(figures: Sequence[str], out: str | os.PathLike[str]) -> str:
    """What an interrupted `reproduce` of these figures leaves for the next, in a sentence.

    >>> kept_of(["windows"], "here")
    'windows starts anew: its parts are not kept.'
    """
    lost = [name for name in BEYOND if name in figures]
    kept = f"finished parts are kept in {os.fspath(out)}, the same command goes on from there"
    if not lost:
        return f"{kept}."
    anew = f"{', '.join(lost)} {'starts' if len(lost) == 1 else 'start'} anew: "
    anew += f"{'its' if len(lost) == 1 else 'their'} parts are not kept."
    return anew if len(lost) == len(set(figures)) else f"{kept}; but {anew}"


def judge(rows: Sequence[Row], known: dict[str, Any], studies: Sequence[str]) -> list[Claim]:
    """The paper's claims that these studies speak of, with what was measured."""
    claims: list[Claim] = []
    if "over-time" in studies:
        claims.append(published_claim(rows, "over-time", known["over-time"], "fig1-top"))
    if "over-gap" in studies:
        claims += gap_claims(rows, "over-gap", "fig1-bottom")
        claims.append(published_claim(rows, "over-gap", known["over-gap"], "fig1-bottom, T = 3·10⁵ (as run)"))
        printed = "fig1-bottom, T = 2·10⁶ (as printed)"
        claims.append(published_claim(rows, "over-gap-as-printed", known["over-gap"], printed))
    if "over-u1" in studies:
        claims += u1_claims(rows, "over-u1", "u1-ratio")
        claims.append(published_claim(rows, "over-u1", known["over-u1"], "u1-regret"))
    if "over-n" in studies:
        claims += size_claims(rows, "over-n", "fig2")
        claims.append(agreement_claim(rows, "over-n", known["over-n"], "fig2"))
    if "over-mu" in studies:
        claims += mean_claims(rows, "over-mu", in_time="fig3-top", over_mu="fig3-bottom")
        claims.append(agreement_claim(rows, "over-mu", known["over-mu"], "fig3-bottom"))
    if "practical" in studies:
        claims += practical_claims(rows, "practical", "practical")
    return claims


def _folder(out: str | os.PathLike[str]) -> Path:
    if not os.fspath(out):
        raise MatchbanditError("the folder for what is made needs a name; got ''.")
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "runs").mkdir(exist_ok=True)
    except OSError as error:
        why = error.strerror or "it cannot be made"
        raise MatchbanditError(f"cannot write into the folder {os.fspath(out)!r}: {why}. Choose another.") from None
    return folder
