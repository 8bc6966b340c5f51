"""Logs, estimates, rankings, fits and results on disk: calls of the product."""

import tempfile
from itertools import cycle
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import matchbandit as mb
from contract import inputs
from matchbandit.leagues import Store
from matchbandit.rewards import parse_rewards

DIVIDERS = {"csv": ",", "csv with semicolons": ";", "csv with tabs": "\t"}


def estimate(
    log: dict[str, Any], form: str, kind: str, rewards: str, level: float, n_rows: int | None
) -> dict[str, Any]:
    """The first rows (None: all) of the estimates from a log in one of the forms."""
    heads, rows = inputs.log_rows(**log)
    with tempfile.TemporaryDirectory() as folder:
        past = _read(heads, rows, form, kind, Path(folder))
    frame = mb.estimates(past, rewards=parse_rewards(rewards), level=level)[:n_rows]
    texts = {head: [value if isinstance(value, str) else None for value in frame[head]]
             for head in ("kind", "side", "item", "partner")}  # fmt: skip
    numbers = {head: list(frame[head].to_numpy()) for head in ("plays", "mean", "estimate", "low", "high")}
    return {**texts, **{head: np.array(values) for head, values in numbers.items()}, "voids": past.voids}


def _read(heads: list[str], rows: list[list[Any]], form: str, kind: str, folder: Path) -> mb.PastResults:
    if form == "rows":
        return mb.PastResults.from_rows(rows, kind=kind, sides=(heads[0], heads[1]) if kind == "sides" else None)
    if form in DIVIDERS:
        lines = [heads, *([("" if cell is None else str(cell)) for cell in row] for row in rows)]
        (folder / "log.csv").write_text("".join(DIVIDERS[form].join(line) + "\n" for line in lines), encoding="utf-8")
        return mb.read_results(folder / "log.csv", kind=kind)
    columns = {head: [row[place] for row in rows] for place, head in enumerate(heads)}
    table = pa.table(columns)
    if form == "parquet":
        pq.write_table(table, folder / "log.parquet")
        return mb.read_results(folder / "log.parquet", kind=kind)
    source = {
        "mapping": lambda: columns,
        "pandas": lambda: pd.DataFrame(columns),
        "polars": lambda: pl.DataFrame(columns),
        "arrow": lambda: table,
        "duckdb": lambda: duckdb.from_arrow(table),
    }
    if form == "pandas with chosen columns":
        frame = pd.DataFrame(columns).rename(columns={head: f"the {head}" for head in heads}).assign(note="x")
        roles = ["first", "second", *heads[2:]]
        head_by_role = {role: f"the {head}" for role, head in zip(roles, heads, strict=True)}
        return mb.read_results(frame, columns=head_by_role, kind=kind)
    return mb.read_results(source[form](), kind=kind)


def fit_products(items: inputs.Items, results: dict[str, Any], rewards: str) -> dict[str, Any]:
    """The test whether results fit products."""
    graph = mb.monopartite(items["players"]) if "players" in items else mb.bipartite(items["rows"], items["columns"])
    totals = inputs.results(items, **results)
    return _fit(mb.product_fit(graph, totals.pairs, counts=totals.counts, sums=totals.sums,
                               rewards=parse_rewards(rewards)))  # fmt: skip


def fit_log(log: dict[str, Any], kind: str, rewards: str) -> dict[str, Any]:
    """The test whether the results of a log fit products; its worst pairs and its strengths have names."""
    heads, rows = inputs.log_rows(**log)
    sides = (heads[0], heads[1]) if kind == "sides" else None
    fit = mb.product_fit(mb.PastResults.from_rows(rows, kind=kind, sides=sides), rewards=parse_rewards(rewards))
    return {**_fit(fit), "worst": fit.worst(3), "by_name": list(fit.strengths_by_name())}


def _fit(fit: mb.ProductFit) -> dict[str, Any]:
    return {
        "statistic": fit.statistic,
        "degrees_of_freedom": fit.degrees_of_freedom,
        "strengths": list(fit.strengths),
        "pairs": fit.pairs,
        "residuals": fit.residuals,
        "p_value": fit.p_value,
        "deviance_p_value": fit.deviance_p_value,
        "structure_p_value": fit.structure_p_value,
        "power": fit.power,
        "verdict": fit.verdict,
    }


def rank_league(
    log: dict[str, Any],
    policy: str,
    options: dict[str, Any],
    selection: str,
    no_rematch: int,
    rewards: str,
    seed: int,
    outcomes: list[int],
    leave: list[str],
) -> dict[str, Any]:
    """The ranking of a league with past results, and what it expects of three proposals, two of them with outcomes.

    `outcomes` are of the pairs of each proposal, in turn.
    """
    heads, rows = inputs.log_rows(**log)
    sides = inputs.log_names(log["items"], log["prefixes"])
    with tempfile.TemporaryDirectory() as folder, Store(f"sqlite:///{folder}/store.db") as store:
        league = store.create(
            "contract",
            players=sides[0] if len(sides) == 1 else None,
            sides=None if len(sides) == 1 else dict(zip(heads[:2], sides, strict=True)),
            past=rows,
            rewards=rewards,
            seed=seed,
            policy=policy,
            options=options,
            selection=selection,
            no_rematch=no_rematch,
        )
        proposals = []
        for _ in range(2):
            proposal = league.ask()
            proposals.append(proposal)
            league.tell(
                proposal.number, dict(zip((pair.names for pair in proposal.pairs), cycle(outcomes), strict=False))
            )
        league.leave(*leave)
        proposals.append(league.ask())
        ranking = league.ranking().rows
        history = league.summaries()
    return {
        "expected": [proposal.expected for proposal in proposals],
        "best": [proposal.best for proposal in proposals],
        "achieved": [summary.reward for summary in history],
        "expected_of_played": [summary.expected_so_far for summary in history],
        "place": [standing.rank for standing in ranking],
        "name": [standing.name for standing in ranking],
        "side": [standing.side for standing in ranking],
        "estimate": [standing.estimate for standing in ranking],
        "low": [standing.low for standing in ranking],
        "high": [standing.high for standing in ranking],
        "meetings": [standing.results for standing in ranking],
        "mean": [standing.mean for standing in ranking],
        "byes": [standing.byes for standing in ranking],
    }


def save_comparison(
    problem: dict[str, Any], policies: list[list[Any]], goal: dict[str, Any], runs: int, seed: int
) -> dict[str, Any]:
    """A comparison that was saved and loaded."""
    comparison = mb.compare(
        mb.Bipartite(problem["u"], problem["v"], rewards=parse_rewards(problem["rewards"])),
        [mb.policy(name, **options) for name, options in policies],
        runs=runs,
        seed=seed,
        workers=1,
        **goal,
    )
    with tempfile.TemporaryDirectory() as folder:
        comparison.save(Path(folder) / "comparison.parquet")
        copy = mb.load(Path(folder) / "comparison.parquet")
    assert isinstance(copy, mb.Comparison)
    return {
        "labels": copy.labels,
        "results": [_result(result) for result in copy],
        "rankings": [[_standing(standing) for standing in ranking] for ranking in copy.rankings],
    }


def _result(result: mb.Runs | mb.Identification) -> dict[str, Any]:
    fields = {"seed": result.about["seed"], "policy": result.about["policy"], "summary": result.summary()}
    if isinstance(result, mb.Runs):
        return {**fields, "rounds": result.rounds, "regret": result.regret, "plays": result.plays_by_edge,
                "sums": result.sums_by_edge, "ended": result.ended}  # fmt: skip
    return {**fields, "rounds": result.rounds, "pairs": result.pairs, "identified": result.identified,
            "correct": result.correct, "answers": result.answers}  # fmt: skip


def _standing(standing: Any) -> dict[str, Any]:
    names = ("rank", "label", "runs", "mean", "se", "p5", "p95", "shared", "difference", "right", "wrong")
    return {name: getattr(standing, name) for name in names}


KINDS = {
    "estimate": estimate,
    "fit products": fit_products,
    "fit log": fit_log,
    "rank league": rank_league,
    "save comparison": save_comparison,
}
