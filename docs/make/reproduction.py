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
from matchbandit.formatting import duration
from matchbandit.studies import growth, identification, practical
from matchbandit.studies.claims import percent, rounded
from matchbandit.studies.folder import StudyFolder
from matchbandit.studies.published import authors_seconds
from matchbandit.studies.registry import entries

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
    claims = [(c.where, *map(typeset, (c.claim, c.measured, c.threshold)), f"**{c.verdict}**") for c in made.claims]
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
    table("Identification", heads, exponents(out))


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


def times(out: Path) -> Iterable[Sequence[str]]:
    played = [entry for entry in entries().values() if entry.is_default]
    studies = {study.name: (entry, study) for entry in played for study in entry.studies(None)}
    for name, (entry, study) in studies.items():
        ours, theirs = StudyFolder.open(out / name).seconds, authors_seconds(study) if entry.is_of_paper else None
        beside = ("–", "–") if theirs is None else (duration(theirs), rounded(theirs / ours))
        yield name, str(study.runs), duration(ours), *beside


def regrets(out: Path) -> Iterable[Sequence[str]]:
    found = {}
    for study in practical.studies(None):
        rows = StudyFolder.open(out / study.name).rows()
        found |= {policy: rows.where(policy=policy).curve("mean").mean for policy in rows.distinct("policy")}
    for policy, means in sorted(found.items(), key=lambda item: -item[1][-1]):
        yield f"`{policy}`", *(f"{mean:,.0f}" for mean in means)


def saved(out: Path) -> Iterable[Sequence[str]]:
    rows = StudyFolder.open(out / "growth").rows().with_option("growth")
    for family, words in growth.INSTANCES.items():
        means = [rows.where(family=family, growth=g).at_end()["regret"].mean() for g in (growth.PAPERS, growth.FINE)]
        yield words, rounded(means[0]), rounded(means[1]), percent(1 - means[1] / means[0])


def exponents(out: Path) -> Iterable[Sequence[str]]:
    rows = {study.policies[0]: StudyFolder.open(out / study.name).rows() for study in identification.studies(None)}
    for family in identification.FAMILIES:
        of = {policy: each.where(family=family) for policy, each in rows.items()}
        ours = identification.slopes(of["pair-elim"])
        first = of["pair-elim"].where(delta=identification.DELTAS[0]).curve("n")
        told = [
            ours,
            {n: ours[n] for n in ours if n >= identification.LARGE},
            dict(zip(first.x, first.mean, strict=True)),
        ]
        others = {p: identification.slopes(each) for p, each in of.items() if p != "pair-elim" and len(each)}
        yield (
            family,
            *(f"{identification.exponent(each):.2f}" for each in told),
            ", ".join(f"`{policy}` {identification.exponent(each):.2f}" for policy, each in others.items()),
        )


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "reproduction"))
