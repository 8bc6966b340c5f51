"""The pictures of docs/reproduction.md and docs/identification.md, and their tables. Takes 4 minutes.

Usage: python docs/make/reproduction.py [FOLDER]

What is finished is kept in the folder, by default ./reproduction: the same command goes on from there.
"""

import re
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

import matchbandit as mb
from matchbandit.formatting import duration, fixed
from matchbandit.lab.paper.claims import exponent, percent
from matchbandit.lab.paper.figure import Figure
from matchbandit.lab.paper.figures import FAMILIES, FIGURES, FINE, GROWTH, INSTANCES, PAPERS, exponents
from matchbandit.lab.paper.reproduce import authors_seconds
from matchbandit.lab.studies.folder import StudyFolder
from matchbandit.lab.studies.study import Study
from matchbandit.lab.tables import RunTable

IMAGES = Path(__file__).parent.parent / "img"
POWER = r"\d·10[⁰¹²³⁴⁵⁶⁷⁸⁹]+|10\^[\d.]*\d"
NAME = r"[RU]_D/[RU]_I|\(u₂/u₁\)\^-[\d.]*\d|u₂/u₁|u₃/u₂|N\^-[\d.]*\d|N log N|c N|u1 − μ_U|(?<!\w)(?:u1|[NTΔμ])(?![\w_])"
FORMULA = re.compile(rf"(?:{NAME})(?: [=>→] (?:{POWER}|∞|\d[\d./]*(?<![./])))?|{POWER}|Δ_min / \(N log N\)")
"""The formulas of the claims, which the library prints as plain text."""
TEX = {
    "₁": "_1",
    "₂": "_2",
    "₃": "_3",
    "log": r"\log",
    "·": r" \cdot ",
    "→": r"\to",
    "∞": r"\infty",
    "Δ": r"\Delta",
    "−": "-",
}
TEX |= {"μ": r"\mu", "_min": r"_{\min}", "u1": "u_1"}


def main(out: Path) -> None:
    made = mb.reproduce(out=out)
    for picture in made.pictures:
        shutil.copyfile(picture, IMAGES / picture.name)
    claims = [
        (claim.chart, *map(typeset, (claim.text, verdict.measured, verdict.threshold)), f"**{verdict.outcome}**")
        for claim, verdict in made.verdicts.items()
    ]
    table("Verdicts", ("figure", "claim", "measured", "holds if", "verdict"), claims)
    table("Times", ("study", "runs a point", "ours, one core", "the authors' code", "times as fast"), times(out))
    print(f"All: {duration(made.seconds)} of one core; the authors' code {duration(made.authors_seconds)}.\n")
    table("Practical", ("policy", r"$\mu = 0.5$", "0.6", "0.7", "0.8"), regrets(out))
    table("Growth", ("family", "$g = 4$ (the paper)", "$g = 1.05$", "saved"), saved(out))
    heads = (
        "family",
        r"Pair-Elim, $N = 4 \ldots 64$",
        r"$N = 16 \ldots 64$",
        r"its rounds at $\delta = 0.05$",
        r"others, $N = 4 \ldots 16$",
    )
    table("Identification", heads, powers(out))


def typeset(text: str) -> str:
    """The text of a claim with its formulas in TeX."""

    def tex(formula: re.Match[str]) -> str:
        powers = re.sub(r"[⁰¹²³⁴⁵⁶⁷⁸⁹]+", lambda digits: "^" + unicodedata.normalize("NFKC", digits[0]), formula[0])
        powers = re.sub(r"\^(-?[\d.]{2,})", r"^{\1}", powers)
        return "$" + re.sub("|".join(TEX), lambda symbol: TEX[symbol[0]], powers) + "$"

    return FORMULA.sub(tex, text)


def table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    print(f"## {title}\n\n| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    print()


def runs_of(name: str, out: Path) -> RunTable:
    """The runs of all studies of a figure."""
    return RunTable.concat(StudyFolder.open(out / study.name).runs() for study in FIGURES[name].studies())


def times(out: Path) -> Iterable[Sequence[str]]:
    studies: dict[str, tuple[Figure, Study]] = {}
    for figure in FIGURES.values():
        for study in figure.studies() if figure.is_default else ():
            studies.setdefault(study.name, (figure, study))  # of the paper's figures, if it is of two
    for name, (figure, study) in studies.items():
        ours = sum(record["seconds"] for record in StudyFolder.open(out / name).metadata)
        theirs = authors_seconds(study) if figure.is_of_paper else None
        beside = ("–", "–") if theirs is None else (duration(theirs), fixed(theirs / ours, 0))
        yield name, str(study.runs), duration(ours), *beside


def regrets(out: Path) -> Iterable[Sequence[str]]:
    means = {values["policy"]: part.curve("mean").mean for values, part in runs_of("practical", out).split("policy")}
    for policy, along in sorted(means.items(), key=lambda item: -item[1][-1]):
        yield f"`{policy}`", *(f"{mean:,.0f}" for mean in along)


def saved(out: Path) -> Iterable[Sequence[str]]:
    runs = runs_of("growth", out)
    for family, words in INSTANCES.items():
        means = [runs.where({"family": family, GROWTH: growth})["regret"].mean() for growth in (PAPERS, FINE)]
        yield words, fixed(means[0], 0), fixed(means[1], 0), percent(1 - means[1] / means[0])


def powers(out: Path) -> Iterable[Sequence[str]]:
    runs = runs_of("identification", out)
    for family in FAMILIES:
        by_policy, *ours = exponents(runs.where(family=family))
        others = {policy: exponent(of, of.values()) for policy, of in by_policy.items() if policy != "pair-elim"}
        yield (
            family,
            *(f"{each:.2f}" for each in ours),
            ", ".join(f"`{name}` {each:.2f}" for name, each in others.items()),
        )


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "reproduction"))
