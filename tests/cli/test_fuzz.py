"""Command lines at random: whatever is typed, it ends in words and an exit code, never in a traceback."""

import random
import sys

import pytest

from matchbandit import simulation
from matchbandit.cli import main
from matchbandit.lab.paper import reproduce as paper
from matchbandit.leagues import Store

VERBS = [*["simulate", "identify", "bounds"] * 3, "policies", "reproduce"]
ODD = [
    "", " ", "0", "-1", "1.5", "1e400", "-1e18", "1e18", "9" * 300, "nan", "inf", "-inf", "none", "true", "[", "[]",
    "[[0, 1]]", "{}", "--", "-", "=", "a=b", "²", "٣", "½", "Δ≤", "🎲", "\udcff", "\u202e", "\x00", "%s", "{0}", "a b",
    "0x10", "1_000", "../..", "/dev/full", "/dev/null", "/", "no such.parquet", "notes.txt", "empty.parquet", "'", "*",
]  # fmt: skip
SLOTS = ["--u 0.9,0.3 --v 0.8,0.2", "--u 0.9 0.5 0.1 --v 0.5", "--u 0,0 --v 1,1,0"]
PLAYERS = ["--u 0.9,0.8,0.4,0.3", "--u 0.5 0.5 0.5 0.1", "--u 1,0", "--family staircase --param n=2 --param gap=0.1"]
SPIKED = "--family spiked --param n=3 --param u1=0.9 --param gap=0.5"
PLAYS = {
    "pair-elim": SLOTS,
    "uts": [*SLOTS, SPIKED],
    "adaptive-matching": PLAYERS,
    "rank1-thompson": [*SLOTS, *PLAYERS],
}
SEEKS = {"pair-elim": [*SLOTS, SPIKED], "pair-elim-mono": PLAYERS, "matching-id": PLAYERS}
FURTHER = {
    "simulate": ["--runs 1", "--seed 3", "--engine step", "--engine loop", "--checkpoints 1,5", "--json",
                 "--checkpoints 1 2 3",
                 "--stop first-split", "--save kept.parquet", "--rewards gaussian:0.5", "--rewards binomial:4",
                 "--option growth=1.5", "--option selection=pair", "--horizon 1e12", "--runs 1e12", "--seed 1e30",
                 "--option clusters=[[0,1],[2,3]]", "--option delta=0.1", "--param n=20000", "--rewards binomial:1e18"],
    "identify": ["--runs 1", "--seed 3", "--engine jump", "--max-rounds 100", "--save kept.parquet", "--json",
                 "--rewards gaussian:1e-300", "--option growth=1.5", "--option cap-windows=true", "--delta 1e-300"],
    "bounds": ["--delta 0.1", "--json", "--figure x.png", "--figure x.svg", "--over kept.parquet", "--over old.parquet",
               "--rewards gaussian:0.5", "--seed 1", "--horizon 1e300", "--param n=1e300"],
    "policies": ["--json", "uts", "pair-elim", "--help"],
    "reproduce": ["--runs 2", "--json", "fig9", "--out out", "--seed 3"],
    "league": [*["--json", "--store matchbandit.db", "--store sqlite:///matchbandit.db"] * 3,
               "--store notes.txt", "--store sqlite:///", "--store postgresql:///"],
}  # fmt: skip
LEAGUE = [
    "new club ann bob cem", "new shop --side ads=a,b --side slots=c", "new past --past notes.txt --column reward=x",
    "new club ann --deadline 3d --default 0.5 --no-rematch 2 --rewards gaussian:0.5 --seed 7",
    "ask course", "ask course --available ann,bob,cem", "ask course --absent dee --fix ann+bob --key monday",
    "ask course --sheet sheet.csv", "tell course 1 ann+bob=1 cem+dee=void", "tell course 1 --sheet sheet.csv",
    "tell course --sheet sheet.csv", "tell course 1 ann+bob=0 --correct", "tell course 2 --void ann+cem",
    "tell course 1 --void", "list", "list --status archived", "show course", "show course --proposal 1",
    "show course --items", "show course --results --csv", "show course --progress --newest",
    "show course --proposals --limit 1", "show course --history --since 2026-01-01 --until 2030-01-01T12:00",
    "ranking course", "why course ann", "why course ann+bob", "why course ann bob", "why course --proposal 1",
    "why course", "join course eve", "leave course eve", "leave course cem --erase-name", "rename course dee Dee",
    "rule course", "rule course exclude ann+cem", "rule course unexclude ann+cem", "rule course pin ann+dee",
    "rule course unpin ann+dee", "set course --policy cts-beta --deadline 2h", "set course --option half_life=50",
    "replay course --runs 40 --horizon 10 --workers 1", "replay --file notes.txt", "archive club", "restore club",
    "delete club --yes", "export course --out out.jsonl", "export --without-names", "import out.jsonl --as again",
]  # fmt: skip
"""Verbs of leagues that work, or nearly, on the league that was founded before."""


def line(rng, verbs):
    """What somebody types who is in a hurry: a command that works, or nearly, with up to three slips."""
    verb = rng.choice(verbs)
    parts = [verb]
    if verb in ("simulate", "identify"):
        kinds = PLAYS if verb == "simulate" else SEEKS
        policy = rng.choice([*kinds])
        rounds = "--horizon 200" if verb == "simulate" else "--delta 0.1"
        parts += [f"--policy {policy}", rng.choice(kinds[policy]), rounds, "--workers 1"]
    elif verb == "bounds":
        parts += [rng.choice([*SLOTS, *PLAYERS, SPIKED, "--over kept.parquet"]), "--horizon 200"]
    elif verb == "league":
        parts.append(rng.choice(LEAGUE))
    parts += rng.sample(FURTHER[verb], rng.choice([0, 1, 1, 2]))
    words = " ".join(parts).split(" ")
    for _ in range(rng.choice([0, 0, 1, 1, 2, 3])):
        at = rng.randrange(len(words))
        slip = rng.choice(["replace", "replace", "insert", "drop", "double", "cut", "glue"])
        if slip == "replace":
            words[at] = rng.choice(ODD)
        elif slip == "insert":
            words.insert(at, rng.choice(ODD))
        elif slip == "drop" and len(words) > 1:
            del words[at]
        elif slip == "double":
            words.insert(at, words[at])
        elif slip == "cut":
            words[at] = words[at][:-1]
        elif slip == "glue":
            words[at : at + 2] = ["=".join(words[at : at + 2])]
    return words


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Long work is cut short: what is tested are the words before and after it."""

    def capped(function, **most):
        def play(*args, **options):
            for name, cap in most.items():
                if isinstance(options.get(name), int) and options[name] > cap:
                    options[name] = cap
            return function(*args, **options)

        return play

    monkeypatch.setattr(simulation, "simulate", capped(simulation.simulate, horizon=500, runs=2, workers=1))
    identify = capped(simulation.identify, max_rounds=500, runs=2, workers=1)
    monkeypatch.setattr(
        simulation, "identify", lambda *args, **options: identify(*args, **{"max_rounds": 500, **options})
    )
    redo = paper.reproduce
    monkeypatch.setattr(paper, "reproduce", lambda figures, **options: redo([*figures, "fig9"], **options))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MATCHBANDIT_STORE", raising=False)
    with Store("sqlite:///matchbandit.db") as store:
        course = store.create("course", players=["ann", "bob", "cem", "dee"], seed=1)
        course.tell(course.ask().number, {course.proposal(1).pairs[0].names: 1})
    (tmp_path / "notes.txt").write_text("not a result")
    (tmp_path / "empty.parquet").write_bytes(b"")


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("verbs", "lines", "share"),
    [
        pytest.param(VERBS, 80, 1 / 8, id="in-the-lab"),
        pytest.param(["league"], 60, 1 / 8, id="of-leagues"),
        pytest.param(VERBS, 1000, 1 / 6, id="many-in-the-lab", marks=pytest.mark.slow),
        pytest.param(["league"], 300, 1 / 8, id="many-of-leagues", marks=pytest.mark.slow),
    ],
)
@pytest.mark.sampled(1)
def test_no_command_line_ends_in_a_traceback(monkeypatch, capsys, verbs, lines, share):
    rng = random.Random(2021)
    ends = {0: 0, 2: 0}
    for _ in range(lines):
        words = line(rng, verbs)
        monkeypatch.setattr(sys, "argv", ["matchbandit", *words])
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        except BaseException as error:
            pytest.fail(f"{words} ended in {error!r}")
        err = capsys.readouterr().err
        assert code in ends, f"{words} ended with {code}: {err}"
        assert (code == 2) == err.startswith("error: "), f"{words} ended with {code}: {err}"
        assert "Traceback" not in err
        ends[code] += 1
    assert min(ends.values()) > share * lines  # both what works and what does not is among them
