"""The paper's figures from scratch: studies, pictures with the published numbers laid over, claims and verdicts."""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from matchbandit.errors import MatchbanditError, unknown, whole_number
from matchbandit.experiments.claims import Claim, gap_claims, published_claim, u1_claims
from matchbandit.experiments.studies import STUDIES, run_study
from matchbandit.figures import draw
from matchbandit.figures.page import write_page
from matchbandit.results import Row

FIGURES: dict[str, tuple[str, ...]] = {
    "fig1-top": ("over-time",),
    "fig1-bottom": ("over-gap", "over-gap-as-printed"),
    "u1-regret": ("over-u1",),
    "u1-ratio": ("over-u1",),
    "delta-ratio": ("over-gap", "over-gap-as-printed"),
}
"""The figures that can be drawn, and the studies behind each."""

DEFAULT_RUNS = 40
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
    figures: Sequence[str] = (),
    *,
    runs: int = DEFAULT_RUNS,
    seed: int = 0,
    out: str | os.PathLike[str] = "reproduction",
    workers: int | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Draw the paper's figures (all of them by default) into the folder `out`, and judge its claims.

    Every run plays an instance of its own, drawn from the seed; policies share their instances. Finished parts are
    kept in `out`, so that an interrupted call is continued by the next. `progress` is called with the name of the
    study at work, the runs done and their total.
    """
    for name in figures:
        if name not in FIGURES:
            raise unknown("figure", name, FIGURES)
    runs = whole_number("runs", runs, least=1)
    wanted = [name for name in FIGURES if not figures or name in figures]
    needed = [study for study in STUDIES if any(study in FIGURES[name] for name in wanted)]
    folder = _folder(out)
    total, done = sum(len(STUDIES[study].parts) for study in needed) * runs, 0
    rows: list[Row] = []
    for study in needed:

        def advance(more: int, at: str = study) -> None:
            nonlocal done
            done += more
            if progress:
                progress(at, done, total)

        rows += run_study(
            STUDIES[study],
            runs=runs,
            seed=seed,
            workers=(os.cpu_count() or 1) if workers is None else workers,
            folder=folder / "runs",
            progress=advance,
        )
    known = published()
    pictures = [draw(name, rows, known, folder) for name in wanted]
    claims = judge(rows, known, needed)
    page = write_page(folder / "index.html", pictures, claims, runs, known["source"])
    return Reproduction(claims, pictures, page)


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
    return claims


def _folder(out: str | os.PathLike[str]) -> Path:
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = error.strerror or "it cannot be made"
        raise MatchbanditError(f"cannot write into the folder {os.fspath(out)!r}: {why}. Choose another.") from None
    return folder
