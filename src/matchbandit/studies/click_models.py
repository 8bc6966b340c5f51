"""Published click models: our policies beside those made for items in positions."""

from dataclasses import replace

from matchbandit.figures import Chart, Line
from matchbandit.policies import CATALOGUE
from matchbandit.problems.click_models import model_names
from matchbandit.results import Rows
from matchbandit.studies.claims import Claim, counted, finals, is_clearly_below
from matchbandit.studies.lines import numbers
from matchbandit.studies.registry import Entry
from matchbandit.studies.study import Study

POLICIES = [
    {"name": "rank1-thompson", "selection": "matching"},
    {"name": "rank1-certify", "selection": "matching"},
    *({"name": name} for name in ("grab", "pb-mhb", "cts-beta", "cucb")),
]
OURS, RIVALS, PEER = "rank1-thompson", ("grab", "cts-beta", "cucb"), "pb-mhb"
"""The peer is Thompson sampling of the product model, too."""
ALIKE = 1.5
"""The peer loses about as much if the ratio of mean regrets lies between 1/1.5 and 1.5."""
YANDEX = "yandex"
"""The whole collection: one of its 60 queries for each run."""


def studies(runs: int | None = None) -> tuple[Study, ...]:
    """Six policies at T = 10^5 on every model; items and positions are shuffled for each run."""
    by_name = [*model_names("kdd"), *model_names("simulated")]
    return tuple(
        Study(
            name=name,
            problem={"family": "click-model", "model": models},
            policies=POLICIES,
            horizon=10**5,
            checkpoints=[10**4],
            runs=runs or usual,
        )
        for name, models, usual in (("click-models", by_name, 20), ("click-models-yandex", YANDEX, 60))
    )


def claims(rows: Rows) -> list[Claim]:
    """On how many models rank1-thompson loses less than each rival, and about as much as its peer."""
    models = rows.distinct("model")
    verdicts = []
    for rival in (*RIVALS, PEER):
        lost = [[finals(rows, policy=policy, model=model) for policy in (OURS, rival)] for model in models]
        less = sum(is_clearly_below(ours, theirs) for ours, theirs in lost)
        more = sum(is_clearly_below(theirs, ours) for ours, theirs in lost)
        ratios = sorted(float(theirs.mean() / ours.mean()) for ours, theirs in lost)
        alike = sum(1 / ALIKE <= each <= ALIKE for each in ratios)
        is_peer = rival == PEER
        verdicts.append(
            Claim(
                "click-models",
                f"{rival} loses about as much as {OURS}" if is_peer else f"{OURS} loses less than {rival}",
                f"{OURS} loses less on {less} of {len(models)} models, and more on {more}; {rival} loses "
                f"{ratios[0]:.2g} to {ratios[-1]:.2g} times as much",
                f"between 1/{ALIKE:g} and {ALIKE:g} times as much, on every model"
                if is_peer
                else "by more than two standard errors, on every model",
                counted(alike if is_peer else less, len(models)),
            )
        )
    return verdicts


def charts(rows: Rows) -> tuple[Chart, ...]:
    """The mean regret of each policy on each model; filled marks for policies with a proof of their regret."""
    models = rows.distinct("model")
    lines = []
    for policy in rows.distinct("policy"):
        means = [finals(rows, policy=policy, model=model).mean() for model in models]
        proved = "regret" in CATALOGUE[policy].capabilities.proved
        line = Line(policy if proved else f"{policy} †", numbers(range(len(models))), numbers(means), key=policy)
        lines.append(replace(line, kind="points", hollow=not proved))
    runs = {len(rows.where(model=model).distinct("run")) for model in models}
    return (
        Chart(
            "click-models",
            "Published click models: regret after 100,000 rounds",
            "",
            "regret",
            tuple(lines),
            f"Mean regret of {' or '.join(map(str, sorted(runs)))} runs, seed "
            f"{', '.join(map(str, rows.distinct('seed')))}; items and positions are shuffled for each run, and each "
            f"run of yandex has one of its 60 queries. † and empty marks: the regret is not proved.",
            y_log=True,
            rows=tuple(models),
        ),
    )


ENTRY = Entry("click-models", ("click-models",), studies, claims, charts, is_default=False)
