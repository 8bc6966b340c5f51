"""Cases of the contract: the studies behind the figures with few runs, and studies of one's own."""

from collections.abc import Iterator
from typing import Any

from contract.inputs import study_rows
from contract.records import Case
from contract.thresholds import series

OPTIONS: dict[str, dict[str, Any]] = {  # δ and ε are settings of a whole study
    "pair-elim": {"growth": 4.0, "cap_windows": False},
    "rank1-elim": {},
    "simple-adaptive-matching": {"growth": 1.05, "clusters": None},
    "escb": {"version": 2, "exploration": "log"},
    "rank1-certify": {"selection": "matching", "anytime": False, "share": 0.0625},
    "rank1-thompson": {"selection": "matching", "half_life": None},
    "ols-ucb": {"lam": 1.0},
    "cucb": {},
    "cts-beta": {},
    "cts-gaussian": {},
    "track-and-stop": {},
    "matching-id": {"growth": 4.0},
    "pair-select": {"growth": 4.0, "cap_windows": False},
    "adaptive-matching": {"growth": 1.05, "clusters": [[0, 1], [2, 3, 4, 5, 6, 7]]},
    "exploration-first": {"growth": 1.05, "best": [0, 1]},
    "grab": {"gamma": None, "exploration": "horizon"},
    "pb-mhb": {"c": 1000.0, "m": 1, "first_is_best": False},
}
GAPS = [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85]
MEANS = [0.5, 0.6, 0.7, 0.8]
WINDOWS = {
    "u": [0.9, 0.264, 0.241, 0.195, 0.16, 0.128, 0.0045, 0.0043],
    "v": [0.9, 0.298, 0.22, 0.201, 0.157, 0.153, 0.0695, 0.064],
    "rewards": "bernoulli",
}
POLICIES_OF_FIGURES = {
    "over-time": ["pair-elim", "rank1-elim"],
    "over-gap": ["pair-elim", "rank1-elim"],
    "over-u1": ["pair-elim", "rank1-elim"],
    "over-n": ["simple-adaptive-matching"],
    "over-mu": ["simple-adaptive-matching", "escb"],
    "practical": [
        "simple-adaptive-matching", "escb", "rank1-certify", "rank1-thompson",
        "ols-ucb", "cucb", "cts-beta", "cts-gaussian",
    ],
    "windows": ["pair-elim"],
    "growth": ["pair-elim"],
    "identification": ["pair-elim", "rank1-certify", "track-and-stop"],
    "comparison": ["adaptive-matching", "exploration-first"],
    "evaluations": ["matching-id", "pair-select", "rank1-certify"],
    "click-models": ["rank1-thompson", "rank1-certify", "grab", "pb-mhb", "cts-beta", "cucb"],
}  # fmt: skip


def policies(*names: str, **changes: Any) -> list[dict[str, Any]]:
    """Policies with all of their options, some of them changed."""
    return [{"name": name, **OPTIONS[name], **changes} for name in names]


def cases() -> Iterator[Case]:
    """What each figure plays by default, its rows and claims with few runs, and what needs no figure."""
    for entry, names in POLICIES_OF_FIGURES.items():
        arguments = {"entry": entry, "policies": names}
        yield Case(f"figure-points {entry}", "figure-points", arguments, {"studies": "relative"})  # δ is down to 1e-30
    yield from _figures()
    yield from _verdicts()
    yield Case("reproduce judged", "reproduce", {"figures": ["fig1-top"], "runs": 20, "seed": 0})
    yield Case("reproduce with one run too few", "reproduce", {"figures": ["fig1-top"], "runs": 19, "seed": 0})
    yield Case("reproduce not judged", "reproduce", {"figures": ["u1-ratio"], "runs": 1, "seed": 5})
    yield from _studies()
    yield from _replays()
    yield from _placements()


def _regret(name: str, problem: Any, played: list[dict[str, Any]], horizon: Any, **settings: Any) -> dict[str, Any]:
    common = {"checkpoints": [], "runs": 2, "seed": 3, "engine": "auto"}
    return {"name": name, "problem": problem, "policies": played, "horizon": horizon, **common, **settings}


def _rounds(name: str, problem: Any, played: list[dict[str, Any]], delta: Any, **settings: Any) -> dict[str, Any]:
    common = {"runs": 2, "seed": 3, "engine": "auto"}
    return {"name": name, "problem": problem, "policies": played, "delta": delta, **common, **settings}


def _figure(entry: str, columns: list[str], *studies: dict[str, Any]) -> Case:
    """A case of a figure, of whose studies all have these columns."""
    names = [study["name"] for study in studies]
    return Case(
        f"figure {entry}",
        "figure",
        {"entry": entry, "studies": list(studies), "columns": dict.fromkeys(names, columns)},
        {f"rows.{name}.delta": "relative" for name in names if "delta" in columns},
    )


def _figures() -> Iterator[Case]:
    elimination = policies("pair-elim", "rank1-elim")
    spiked = {"family": "spiked", "n": 8, "u1": 0.9, "gap": GAPS, "rewards": "bernoulli"}
    yield _figure(
        "over-time",
        ["policy", "run", "round", "regret"],
        _regret("over-time", {**spiked, "gap": 0.75}, elimination, 200_000, checkpoints=[*range(4000, 200_000, 4000)]),
    )
    yield _figure(
        "over-gap",
        ["policy", "gap", "horizon", "run", "regret"],
        _regret("over-gap", spiked, elimination, 300_000),
        _regret("over-gap-as-printed", spiked, elimination, 2_000_000),
        _regret(
            "over-gap-instances",
            {**spiked, "family": "spiked-repeated", "repeats": 10},
            elimination,
            [300_000, 2_000_000],
        ),
    )
    yield _figure(
        "over-u1",
        ["policy", "u1", "run", "regret"],
        _regret(
            "over-u1",
            {
                "family": "fixed-mean",
                "n": 8,
                "u1": [0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
                "mean": 0.2,
                "rewards": "bernoulli",
            },
            elimination,
            1_000_000,
        ),
    )
    yield _figure(
        "over-n",
        ["n", "run", "regret"],
        _regret(
            "over-n",
            {"family": "staircase", "n": [*range(2, 12)], "gap": 0.1, "rewards": "bernoulli"},
            policies("simple-adaptive-matching"),
            200_000,
        ),
    )
    centred = {"family": "centred", "n": 4, "mean": MEANS, "gap": 0.1, "rewards": "bernoulli"}
    compared = policies("simple-adaptive-matching", "escb")
    yield _figure(
        "over-mu",
        ["policy", "mean", "run", "round", "regret"],
        _regret("over-mu", centred, compared, 20_000, checkpoints=[*range(1000, 20_000, 1000)]),
    )
    yield _figure(
        "practical",
        ["policy", "mean", "run", "regret"],
        _regret("over-mu", centred, compared, 5000, runs=1),
        _regret("practical", centred, policies("rank1-certify", "rank1-thompson"), 5000, runs=1),
        _regret("practical-blind", centred, policies("ols-ucb", "cucb", "cts-beta", "cts-gaussian"), 5000, runs=1),
    )
    yield _figure(
        "windows",
        ["horizon", "pair-elim.cap_windows", "run", "doubly", "singly"],
        _regret(
            "windows",
            WINDOWS,
            policies("pair-elim", cap_windows=[False, True]),
            [10**power for power in range(4, 13)],
        ),
    )
    yield _figure(
        "growth",
        ["family", "pair-elim.growth", "run", "regret"],
        _regret(
            "growth",
            [
                {**spiked, "gap": 0.75},
                {"family": "fixed-mean", "n": 8, "u1": 0.6, "mean": 0.2, "rewards": "bernoulli"},
            ],
            policies("pair-elim", growth=[1.05, 1.2, 1.5, 2.0, 3.0, 4.0]),
            200_000,
        ),
    )
    half = {"family": "half", "u1": 0.9, "rewards": "bernoulli"}
    fading = {"family": "fading", "u1": 0.9, "low": 0.05, "rewards": "bernoulli"}
    certified = policies("rank1-certify", selection="pair")
    yield _figure(
        "identification",
        ["family", "n", "delta", "run", "rounds", "pairs", "identified", "correct"],
        _rounds(
            "identification",
            [{**half, "n": [4, 8, 16, 32]}, {**fading, "n": [4, 8, 16, 32]}],
            policies("pair-elim"),
            [0.05, 1e-3, 1e-6, 1e-15, 1e-30],
            runs=1,
        ),
        _rounds(
            "identification-certified",
            [{**half, "n": [4, 8]}, {**fading, "n": [4, 8]}],
            certified,
            [0.05, 1e-3, 1e-10],
            runs=1,
        ),
        _rounds(
            "identification-blind", [{**half, "n": [4, 6]}], policies("track-and-stop"), [0.05, 1e-3, 1e-10], runs=1
        ),
    )
    yield _figure(
        "comparison",
        ["policy", "second", "third", "run", "round", "regret"],
        _regret(
            "comparison",
            {
                "family": "two-best",
                "n": 4,
                "u1": 0.95,
                "second": [0.003, 0.01, 0.03, 0.3, 0.7, 1.0],
                "third": [0.9, 0.3],
                "rewards": "bernoulli",
            },
            policies("adaptive-matching", "exploration-first"),
            10**17,
            runs=1,
            stop="first-split",
        ),
    )
    yield _figure(
        "evaluations",
        ["policy", "n", "run", "rounds", "pairs", "identified", "correct"],
        _rounds(
            "evaluations",
            {"family": "equal-pairs", "n": [2, 3, 4, 5, 6], "top": 0.9, "bottom": 0.3, "rewards": "bernoulli"},
            policies("matching-id", "pair-select", "rank1-certify"),
            0.05,
            runs=1,
        ),
    )
    clicks = policies("rank1-thompson", "rank1-certify", "grab", "pb-mhb", "cts-beta", "cucb")
    yield _figure(
        "click-models",
        ["policy", "model", "run", "round", "regret"],
        _regret(
            "click-models",
            {"family": "click-model", "model": ["kdd:1", "simulated:xsmall"], "rewards": "bernoulli"},
            clicks,
            2000,
            checkpoints=[500],
        ),
        _regret(
            "click-models-yandex",
            {"family": "click-model", "model": "yandex", "rewards": "bernoulli"},
            clicks,
            2000,
            checkpoints=[500],
        ),
    )


def _verdicts() -> Iterator[Case]:
    """Claims about rows whose verdict is known beforehand."""
    yield from _verdicts_on_elimination()
    yield from _verdicts_on_matchings()
    yield from _verdicts_on_rounds()
    for entry, about, tables in series():
        yield Case(f"judgements {entry}: {about}", "judgements", {"entry": entry, "series": tables})


def _case(entry: str, label: str, *tables: list[dict[str, Any]]) -> Case:
    return Case(f"verdicts {entry} {label}", "verdicts", {"entry": entry, "tables": list(tables)})


def _verdicts_on_elimination() -> Iterator[Case]:
    rounds = [*range(20_000, 200_001, 20_000)]
    ours = [14_230, 15_644, 15_644, 17_573, 17_573, 17_573, 17_573, 17_573, 17_573, 17_573]
    theirs = [14_633, 29_211, 36_173, 36_173, 36_173, 36_173, 36_173, 36_173, 36_173, 36_173]
    for label, times in (("as published", 1.0), ("half of it", 1.3)):
        lines = [
            {"policy": "pair-elim", "horizon": 200_000, "round": rounds, "regret": [*map(float, ours)]},
            {
                "policy": "rank1-elim",
                "horizon": 200_000,
                "round": rounds,
                "regret": [times * value if at < 8 else float(value) for at, value in enumerate(theirs)],
            },
        ]
        yield _case("over-time", label, study_rows("over-time", lines))
    ours = [15_332, 15_556, 15_484, 15_175, 17_276, 18_755, 19_771, 19_604]
    theirs = [15_921, 20_060, 20_405, 30_139, 34_432, 37_950, 40_339, 45_256]
    for label, as_run, as_printed in (("as run", 1.0, 2.0), ("as printed", 0.5, 1.0), ("neither", 0.7, 0.6)):
        at_horizon = {300_000: as_run, 2_000_000: as_printed}

        def lines_at(horizon: int, factors: dict[int, float] = at_horizon) -> list[dict[str, Any]]:
            means = {"pair-elim": ours, "rank1-elim": theirs}
            return [
                {
                    "policy": policy,
                    "horizon": horizon,
                    "round": horizon,
                    "gap": GAPS,
                    "regret": [round(factors[horizon] * value, 3) for value in values],
                }
                for policy, values in means.items()
            ]

        instances = study_rows(
            "over-gap-instances",
            [{**line, "repeats": 10} for horizon in at_horizon for line in lines_at(horizon)],
            runs=30,
            width=0.2,
        )
        yield _case(
            "over-gap",
            label,
            study_rows("over-gap", lines_at(300_000)),
            study_rows("over-gap-as-printed", lines_at(2_000_000)),
            instances,
        )
    places = [0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    ours = [58_838, 55_810, 43_000, 27_791, 18_459, 20_225]
    theirs = [76_679, 101_346, 95_047, 65_419, 50_280, 44_827]
    for label, first, second in (
        ("as published", ours, theirs),
        ("growing", [50_000] * 6, [60_000, 90_000, 120_000, 150_000, 180_000, 210_000]),
        ("falling", [50_000] * 6, [210_000, 150_000, 120_000, 90_000, 80_000, 60_000]),
    ):
        lines = [
            {"policy": policy, "horizon": 10**6, "round": 10**6, "u1": places, "regret": [*map(float, values)]}
            for policy, values in (("pair-elim", first), ("rank1-elim", second))
        ]
        yield _case("over-u1", label, study_rows("over-u1", lines))
    horizons = [10**power for power in range(4, 13)]
    for label, doubly, singly in (("level", 0.01, 0.05), ("growing", 0.2, 0.9)):
        lines = [
            {
                "policy": "pair-elim",
                "options": f'{{"cap_windows": {cap}}}',
                "horizon": horizons,
                "doubly": [round(900 * times * (1 + doubly * power), 3) for power in range(9)],
                "singly": [round(700 * times * (1 + singly * power), 3) for power in range(9)],
            }
            for cap, times in (("false", 1.0), ("true", 0.8))
        ]
        yield _case("windows", label, study_rows("windows", lines))
    growths = [1.05, 1.2, 1.5, 2.0, 3.0, 4.0]
    lines = [
        {
            "policy": "pair-elim",
            "family": family,
            "options": f'{{"growth": {growth}}}',
            "horizon": 200_000,
            "round": [200_000],
            "regret": [round(20_000 * (1 - saved * (4.0 - growth) / 2.95), 3)],
        }
        for family, saved in (("spiked", 0.53), ("fixed-mean", 0.44))
        for growth in growths
    ]
    yield _case("growth", "more and less than half", study_rows("growth", lines))


def _verdicts_on_matchings() -> Iterator[Case]:
    sam = "simple-adaptive-matching"
    published = [1333, 4800, 11_386, 13_281, 14_488, 15_996, 17_759, 19_456, 21_775, 23_252]
    level = [1333, 4800, *(round(1150 * n * 0.48 * (1 + n / 8)) for n in range(4, 12))]
    for label, values in (("as published", published), ("level", level)):
        line = {"policy": sam, "horizon": 200_000, "round": 200_000, "n": [*range(2, 12)]}
        yield _case("over-n", label, study_rows("over-n", [{**line, "regret": [*map(float, values)]}], width=0.02))
    rounds = [*range(20_000, 200_001, 20_000)]
    escb = [527, 857, 1142, 1412, 1631, 1809, 1976, 2158, 2311, 2451]
    for label, ours in (
        ("overtaking", [900, 1250, 1400, 1480, 1540, 1580, 1600, 1615, 1625, 1634]),
        ("overtaking by a hair", [900, 1250, 1400, 1480, 1540, 1800, 1960, 2140, 2300, 2440]),
        ("ahead", [400, 600, 800, 1000, 1200, 1300, 1400, 1500, 1600, 1748]),
    ):
        lines = [
            {"policy": policy, "horizon": 200_000, "mean": mean, "round": rounds, "regret": [*map(float, values)]}
            for policy, by_mean in (
                (sam, (ours, *([last * at / 10 for at in range(1, 11)] for last in (1245, 900, 689)))),
                ("escb", (escb, *([last * at / 10 for at in range(1, 11)] for last in (2376, 2437, 2400)))),
            )
            for mean, values in zip(MEANS, by_mean, strict=True)
        ]
        yield _case("over-mu", label, study_rows("over-mu", lines))
    for label, times in (("large", 1.0), ("mixed", 1.4)):
        lines = {
            policy: {
                "policy": policy,
                "horizon": 200_000,
                "round": 200_000,
                "mean": MEANS,
                "regret": [round(value * times**at, 3) for at in range(4)],
            }
            for policy, value in (("rank1-certify", 120.0), ("rank1-thompson", 37.0))
        } | {
            policy: {"policy": policy, "horizon": 200_000, "round": 200_000, "mean": MEANS, "regret": values}
            for policy, values in ((sam, [1634.0, 1245.0, 1100.0, 1000.0]), ("escb", [2451.0, 2376.0, 2437.0, 2400.0]))
        }
        yield _case(
            "practical",
            label,
            study_rows("over-mu", [lines[sam], lines["escb"]]),
            study_rows("practical", [lines["rank1-certify"], lines["rank1-thompson"]]),
        )
    seconds = [0.003, 0.01, 0.03, 0.1, 0.3, 0.7, 1.0]
    for label, power in (("growing", -0.9), ("level", -0.3)):
        lines = [
            {
                "policy": policy,
                "horizon": 10**17,
                "round": 10**17,
                "third": third,
                "second": seconds,
                "regret": [
                    round(1e6 * (second**power if policy == "adaptive-matching" else 2.0), 3) for second in seconds
                ],
            }
            for policy in ("adaptive-matching", "exploration-first")
            for third in (0.9, 0.3)
        ]
        yield _case("comparison", label, study_rows("comparison", lines))
    rivals = {"rank1-certify": 1.7, "grab": 2.5, "pb-mhb": 1.2, "cts-beta": 1.15, "cucb": 0.9}
    lines = [
        {
            "policy": policy,
            "horizon": 10**5,
            "round": 10**5,
            "model": ["kdd:1", "kdd:2", "yandex"],
            "regret": [1000 * times, 1500 * times**2, 700 * times**0.5],
        }
        for policy, times in {"rank1-thompson": 1.0, **rivals}.items()
    ]
    yield _case("click-models", "some of each", study_rows("click-models", lines, width=0.3))


def _verdicts_on_rounds() -> Iterator[Case]:
    deltas = [0.05, 1e-3, 1e-6, 1e-10]
    logs = [3.0, 6.9, 13.8, 23.0]  # of 1/δ, about
    for label, power, bend in (("linear", 1.0, 0.0), ("linear in part", 1.9, 0.9), ("quadratic", 2.0, 0.0)):
        lines = []
        for policy, sizes in (
            ("pair-elim", [4, 8, 16, 32, 64]),
            ("rank1-certify", [4, 8, 16]),
            ("track-and-stop", [4, 8, 16]),
        ):
            for n in sizes:
                slope = n**power / max(1.0, n / 16) ** bend
                lines.append(
                    {
                        "policy": policy,
                        "family": "half",
                        "n": n,
                        "delta": deltas,
                        "rounds": [round(100 * slope * (1.5 + value), 3) for value in logs],
                    }
                )
        yield _case("identification", label, study_rows("identification", lines, runs=3))
    sizes = [2, 3, 4, 5, 6, 7, 8]
    for label, power in (("same order", 2.1), ("about the same order", 3.0), ("another order", 4.0)):
        powers = {"matching-id": 2.0, "pair-select": power, "rank1-certify": 1.6}
        lines = [
            {"policy": policy, "n": sizes, "pairs": [round(5000 * n**each, 3) for n in sizes]}
            for policy, each in powers.items()
        ]
        yield _case("evaluations", label, study_rows("evaluations", lines))


def _studies() -> Iterator[Case]:
    yield _study(
        "sweep of a family and an option",
        ["policy", "pair-elim.growth", "gap", "run", "round", "regret"],
        _regret(
            "sweep",
            {"family": "spiked", "n": 4, "u1": 0.9, "gap": [0.4, 0.6], "rewards": "gaussian:0.5"},
            [*policies("pair-elim", growth=[1.5, 4.0]), *policies("rank1-elim")],
            5000,
            checkpoints=[100, 1000],
            runs=3,
        ),
    )
    yield _study(
        "strengths over horizons",
        ["policy", "horizon", "run", "round", "regret"],
        _regret(
            "horizons",
            {"u": [0.9, 0.7, 0.5, 0.2], "rewards": "binomial:4"},
            [*policies("adaptive-matching", clusters=[[0, 1, 2, 3]]), *policies("cucb")],
            [200, 1000],
            runs=3,
        ),
    )
    yield _study(
        "rounds over delta",
        ["policy", "delta", "run", "rounds", "pairs", "identified", "correct"],
        _rounds(
            "deltas",
            [
                {"u": [0.9, 0.3], "v": [0.8, 0.2], "rewards": "bernoulli"},
                {"u": [0.9, 0.7, 0.2], "rewards": "bernoulli"},
            ],
            policies("rank1-certify", selection="pair"),
            [0.1, 0.001],
            runs=3,
            epsilon=[0.0, 0.2],
            max_rounds=100_000,
        ),
    )
    yield _study(
        "fixed budgets",
        ["policy", "budget", "run", "rounds", "pairs", "identified", "correct"],
        {
            "name": "budgets",
            "problem": {"u": [0.9, 0.6], "v": [0.8, 0.5, 0.3], "rewards": "bernoulli"},
            "policies": [{"name": "sequential-halving", "selection": "pair"}],
            "budget": [30, 120],
            "runs": 4,
            "seed": 8,
            "engine": "auto",
        },
    )
    yield _study(
        "drifting strengths and a half-life",
        ["policy", "rank1-thompson.half_life", "drift_step", "run", "round", "regret"],
        _regret(
            "drifts",
            {
                "family": "centred",
                "n": 2,
                "mean": 0.5,
                "gap": 0.2,
                "rewards": "bernoulli",
                "drift": {"kind": "random-walk", "step": [0.01, 0.05], "every": 1, "low": 0.01, "high": 0.99},
            },
            [*policies("rank1-thompson", half_life=[50, 500]), *policies("cucb")],
            400,
            checkpoints=[100],
        ),
    )
    yield _study(
        "general means",
        ["policy", "run", "round", "regret"],
        _regret(
            "means",
            {"means": [[0.7, 0.4, 0.2], [0.5, 0.6, 0.1]], "rewards": "gaussian:0.3"},
            policies("cucb", "ols-ucb"),
            300,
            checkpoints=[100],
            runs=3,
        ),
    )
    uniform, uts = [{"name": "uniform", "selection": "matching"}], [{"name": "uts", "gamma": 2}]
    yield Case(
        "study-refusals",
        "study-refusals",
        {
            "studies": [
                {"name": "x", "problem": {"u": [0.9, 0.3]}, "policies": ["no-such-policy"], "horizon": 100},
                {"name": "x", "problem": {"u": [0.9, 0.3]}, "policies": uniform},
                {"name": "x", "problem": {"family": "spiked", "n": 4}, "policies": uts, "horizon": 100},
                {"name": "x", "problem": {"u": [0.9, 1.3]}, "policies": uniform, "horizon": 100},
                {"name": "x", "problem": {"u": [0.9, 0.3]}, "policies": uniform, "horizon": 0},
                {"name": "x", "problem": {"u": [0.9, 0.3]}, "policies": [], "horizon": 100},
            ]
        },
    )


def _study(name: str, columns: list[str], study: dict[str, Any]) -> Case:
    return Case(f"study {name}", "study", {"study": study, "columns": columns, "part_runs": 1})


PLAYERS = [
    ["ann", "bob", 40, 32], ["ann", "cem", 40, 19], ["bob", "dan", 40, 9], ["cem", "dan", 40, 6],
    ["ann", "dan", 35, 14], ["bob", "cem", 25, 11], ["eva", "ann", 30, 23], ["eva", "bob", 12, 7],
    ["eva", "fay", 20, 3], ["cem", "fay", 15, 2],
]  # fmt: skip
"""A log: two players, how often they met, and the sum of the rewards."""


def _replays() -> Iterator[Case]:
    (thompson,) = policies("rank1-thompson")
    common = {"log": PLAYERS, "rewards": {"kind": "bernoulli"}}
    for label, truth, selection, start in (
        ("products", "product", "matching", "warm"),
        ("general means", "general", "matching", "both"),
        ("either, pairs", "auto", "pair", "warm"),
    ):
        product_policy = {**thompson, "selection": selection}
        other_policy = {"name": "cucb"} if selection == "matching" else {"name": "kl-ucb"}
        labels = ["rank1-thompson", other_policy["name"]]
        if start == "both":
            labels = [f"{name} (cold)" for name in labels]
        yield Case(
            f"replay {label}",
            "replay",
            {
                **common,
                "policies": [product_policy, other_policy],
                "pairs": [labels, ["as before", labels[1]]],
                "horizon": 60,
                "runs": 40,
                "seed": 4,
                "selection": selection,
                "start": start,
                "truth": truth,
            },
            POSTERIOR,
        )
    yield Case(
        "propose",
        "propose",
        {**common, "policy": thompson, "selection": "matching", "horizon": 500, "draws": 20, "seed": 2},
    )


POSTERIOR = {"*": {"rtol": 1e-6, "atol": 1e-9}}
"""Truths are drawn by trajectories from a mode that is found to some digits, and lengthen its error."""


def _placements() -> Iterator[Case]:
    programs = {"rtol": 1.1e-3}  # bounds of the product model are known to 0.1 %
    match = {
        "bounds.y": programs,
        **{f"placements.{name}": programs for name in ("lower", "times_lower")},
    }
    settings = {"runs": 4, "seed": 6}
    yield Case(
        "placement of regret",
        "placement",
        {
            "strengths": {"u": [0.9, 0.8, 0.45, 0.3]},
            "rewards": {"kind": "bernoulli"},
            "policies": [*policies("adaptive-matching", growth=4.0, clusters=None), *policies("rank1-thompson")],
            "goal": {"horizon": 3000},
            "settings": {**settings, "checkpoints": [100, 1000]},
        },
        match,
    )
    yield Case(
        "placement of rounds",
        "placement",
        {
            "strengths": {"u": [0.9, 0.5], "v": [0.8, 0.6, 0.3]},
            "rewards": {"kind": "gaussian", "sd": 0.5},
            "policies": policies("rank1-certify", selection="pair", delta=0.05, epsilon=None),
            "goal": {"delta": 0.05},
            "settings": {**settings, "max_rounds": 100_000},
        },
        match,
    )
