"""What results that are lost or late cost a league: docs/img/league.png, and league.json.

300 days, 30 players, each of them there on 80 % of the days, one proposal a day by rank1-thompson. Three fates of the
same league, with the same strengths, the same players present and the same luck of every pair on every day: every
result is told the same evening; a tenth is never told (and void after a week); and, besides, a fifth is told three days
later. The regret of a day is against the best matching of those who play that day.

Usage: python docs/make/league.py [LEAGUES]     measure, and draw
       python docs/make/league.py draw          draw again what is in league.json
"""

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from matchbandit.figures import Chart, Series
from matchbandit.leagues import Store

HERE = Path(__file__)
ROWS, PICTURE = HERE.with_name("league.json"), HERE.parent.parent / "img" / "league.png"
PLAYERS, DAYS, PRESENT = 30, 300, 0.8
LOST, LATE, DELAY = 0.1, 0.2, 3
FATES = {
    "all": ("every result the same evening", 0.0, 0.0),
    "lost": ("a tenth lost", LOST, 0.0),
    "late": ("a tenth lost, a fifth three days late", LOST, LATE),
}
TOLD_AT = 10
"""The curve is kept every so many days."""


def played(seed: int, *, lost: float, late: float, days: int = DAYS) -> np.ndarray:
    """The regret of each day of one league. What the seed draws does not depend on what is lost or late."""
    rng = np.random.default_rng([seed, 0])
    u = rng.uniform(0.1, 0.95, PLAYERS)
    present = rng.random((days, PLAYERS)) < PRESENT
    luck, fate = rng.random((2, days, PLAYERS, PLAYERS))
    names = [f"player {k}" for k in range(PLAYERS)]
    now = datetime(2026, 1, 1, 9, tzinfo=UTC)
    post: list[list[tuple[int, dict[tuple[int, int], float]]]] = [[] for _ in range(days + DELAY)]
    regret = np.zeros(days)
    with TemporaryDirectory() as folder, Store(f"sqlite:///{folder}/store.db", clock=lambda: now) as store:
        league = store.create("club", players=names, seed=seed, deadline=timedelta(days=7))
        for day in range(days):
            proposal = league.ask(available=[names[k] for k in np.flatnonzero(present[day])])
            ids = [pair.ids for pair in proposal.pairs]
            pairs = np.array(ids) - 1
            means = u[pairs].prod(axis=1)
            ranked = np.sort(u[pairs.ravel()])
            regret[day] = ranked[::2] @ ranked[1::2] - means.sum()
            i, j = pairs.T
            rewards, drawn = (luck[day, i, j] < means).astype(float), fate[day, i, j]
            now += timedelta(hours=8)
            told = drawn >= lost + late
            waits = (drawn >= lost) & ~told
            for chosen, evening in ((told, day), (waits, day + DELAY)):
                found = {ids[k]: float(rewards[k]) for k in np.flatnonzero(chosen)}
                if found:
                    post[evening].append((proposal.number, found))
            for number, outcomes in post[day]:
                league.tell(number, outcomes)
            now += timedelta(hours=16)
    return regret


def fates(seed: int, *, days: int = DAYS) -> dict[str, np.ndarray]:
    """The same league under every fate."""
    return {key: played(seed, lost=lost, late=late, days=days) for key, (_, lost, late) in FATES.items()}


def ratio(one: np.ndarray, other: np.ndarray) -> tuple[float, float, float]:
    """The mean of `one` over that of `other`, league by league, with a 95 % interval (bootstrap of the leagues)."""
    rng = np.random.default_rng(1)
    picks = rng.integers(0, len(one), (10_000, len(one)))
    drawn = one[picks].mean(axis=1) / other[picks].mean(axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(one.mean() / other.mean()), float(low), float(high)


def measure(leagues: int) -> None:
    with ProcessPoolExecutor(2) as pool:
        made = []
        for seed, found in enumerate(pool.map(fates, range(leagues))):
            made.append(found)
            print(seed, {key: round(float(regret.sum()), 1) for key, regret in found.items()}, flush=True)
    total = {key: np.array([found[key].sum() for found in made]) for key in FATES}
    rows = []
    for key in FATES:
        curves = np.cumsum([found[key] for found in made], axis=1)[:, TOLD_AT - 1 :: TOLD_AT]
        mean, error = curves.mean(axis=0), curves.std(axis=0, ddof=1) / np.sqrt(leagues)
        than = ratio(total[key], total["lost"])
        rows.append(
            {
                "fate": key,
                "leagues": leagues,
                "regret": round(float(total[key].mean()), 1),
                "error": round(float(error[-1]), 1),
                "ratio": [round(number, 3) for number in than],
                "days": list(range(TOLD_AT, DAYS + 1, TOLD_AT)),
                "curve": mean.round(2).tolist(),
                "errors": error.round(2).tolist(),
            }
        )
        print({name: rows[-1][name] for name in ("fate", "leagues", "regret", "error", "ratio")})
    ROWS.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n", encoding="utf-8")


def chart() -> Chart:
    """Regret over days under each fate."""
    rows = json.loads(ROWS.read_text(encoding="utf-8"))
    lines = []
    for row in rows:
        x, mean, error = (np.array(row[name], float) for name in ("days", "curve", "errors"))
        lines.append(Series(FATES[row["fate"]][0], x, mean, mean - 2 * error, mean + 2 * error, key=row["fate"]))
    return Chart(
        name="league",
        title="What lost and late results cost",
        x_label="days",
        y_label="regret",
        series=tuple(lines),
        caption=f"rank1-thompson; {PLAYERS} players, each there on {PRESENT:.0%} of the days; {rows[0]['leagues']} "
        "leagues. Bands: two standard errors of the mean.",
    )


if __name__ == "__main__":
    if sys.argv[1:] != ["draw"]:
        measure(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
    print(chart().save(PICTURE))
