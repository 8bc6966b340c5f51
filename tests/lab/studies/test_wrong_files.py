"""Study files with a mistake: each is refused with the path of the file and of the key."""

import pytest

import matchbandit as mb
from matchbandit.errors import MatchbanditError

PARTS = {
    "name": 'name = "x"',
    "horizon": "horizon = 100",
    "runs": "runs = 2",
    "policies": 'policies = ["uts"]',
    "problem": "[problem]\nu = [0.9, 0.3]\nv = [0.8, 0.2]",
    "sweep": "",
}
STAIRCASE = '[problem]\nfamily = "staircase"\nn = 2\ngap = 0.1'
SPIKED = '[problem]\nfamily = "spiked"\nn = 4\ngap = 0.3'
CERTIFY = 'policies = ["rank1-certify"]'
WRONG = [
    ("horizon = 100", "horizon = 0", ["horizon", "got 0"]),
    ("horizon = 100", "horizon = 100.5", ["horizon", "100.5"]),
    ("horizon = 100", "horizon = inf", ["horizon", "inf"]),
    ("horizon = 100", "horizon = true", ["horizon", "True"]),
    ("horizon = 100", "horizon = [100, 1000]", ["horizon", "[sweep]"]),
    ("horizon = 100", "", ["horizon", "delta", "budget"]),
    ("horizon = 100", "horizon = 100\ndelta = 0.1", ["horizon and delta"]),
    ("horizon = 100", "horizon = 100\nmax_rounds = 50", ["max_rounds", "delta"]),
    ("horizon = 100", "horizon = 100\nepsilon = 0.1", ["epsilon", "delta"]),
    ("horizon = 100", "horizon = 100\ncheckpoints = [50, 5000]", ["checkpoints", "5000"]),
    ("horizon = 100", "delta = 1.0", ["delta", "got 1"]),
    ("horizon = 100", "delta = 0.1\ncheckpoints = [10]", ["checkpoints", "horizon"]),
    ("horizon = 100", "delta = 0.1", ["uts", "regret"]),
    ("runs = 2", "rnus = 2", ["rnus", "did you mean 'runs'"]),
    ("runs = 2", "runs = 0", ["runs", "got 0"]),
    ("runs = 2", "runs = true", ["runs", "True"]),
    ("runs = 2", "seed = 2026-01-01", ["seed"]),
    ("runs = 2", 'engine = "fast"', ["engine", "'fast'"]),
    ("uts", "utss", ["policies.0", "did you mean 'uts'"]),
    ('["uts"]', "[]", ["policies"]),
    ('["uts"]', "[3]", ["policies.0"]),
    ('["uts"]', "[{gamma = 2}]", ["policies.0", "name"]),
    ('["uts"]', '["uts", "uts"]', ["uts", "twice"]),
    ('["uts"]', '[{name = "uts", gama = 2}]', ["policies.0.gama", "'gamma'"]),
    ('["uts"]', '[{name = "pair-elim", growth = 0.5}]', ["policies.0.growth", "0.5"]),
    ('["uts"]', '[{name = "pair-elim", growth = [1.5, 4]}]', ["policies.0.growth", "pair-elim.growth", "[sweep]"]),
    ('["uts"]', '["pair-select"]', ["pair-select", "identif"]),
    ('["uts"]', '["simple-adaptive-matching"]', ["simple-adaptive-matching"]),
    ('["uts"]', '["no_such_module:Mine"]', ["no_such_module"]),
    ("[0.9, 0.3]", "0.9", ["problem.u"]),
    ("[0.9, 0.3]", "[0.9, 1.3]", ["problem.u", "1.3"]),
    ("[0.9, 0.3]", "[0.9, nan]", ["problem.u", "nan"]),
    ("[0.9, 0.3]", "[0.9, 0.3]\nseed = 3", ["problem.seed", "above"]),
    ("[0.9, 0.3]", "[0.9, 0.3]\nmeans = [[0.1]]", ["problem", "means"]),
    ("[0.9, 0.3]", '[0.9, 0.3]\nrewards = "gausian:1"', ["problem.rewards", "gaussian"]),
    ("[0.9, 0.3]", '[0.9, 0.3]\ndrift = {kind = "walk"}', ["problem.drift", "walk"]),
    (PARTS["problem"], 'problem = "spiked"', ["problem", "spiked"]),
    (PARTS["problem"], "problem = []", ["problem"]),
    (PARTS["problem"], '[problem]\nfamily = "spikd"', ["problem", "did you mean 'spiked'"]),
    (PARTS["problem"], SPIKED, ["problem", "u1"]),
    (PARTS["problem"], f"{STAIRCASE}\ngpa = 1", ["problem.gpa", "'gap'"]),
    (PARTS["problem"], f"{SPIKED}\n[sweep]\nu1 = [0.5, 2.5]", ["sweep.u1", "2.5"]),
    ("", "[sweep]\nhorizon = []", ["sweep.horizon"]),
    ("", "[sweep]\ngpa = [1, 2]", ["sweep.gpa"]),
    ("", "[sweep]\nruns = [1, 2]", ["sweep.runs"]),
    ("", '[sweep]\n"uts2.gamma" = [1, 2]', ["sweep.uts2.gamma", "'uts'"]),
    ("", '[sweep]\n"uts.gama" = [1, 2]', ["uts", "'gamma'"]),
    ("", "[sweep]\nseed = [{a = 1}]", ["sweep.seed"]),
    ("", f'[sweep]\nseed = {[*range(150)]}\n"uts.gamma" = {[*range(150)]}', ["sweep", "20,000"]),
    *(
        (PARTS["name"], f"name = {name}", ["name"])
        for name in (
            '"../x"',
            '"/x"',
            '""',
            '"."',
            '".ssh"',
            r'"a\nb"',
            r'"ab\n"',
            r'"a\u0000b"',
            f'"{"x" * 300}"',
            "3",
        )
    ),
]


def written(tmp_path, text):
    file = tmp_path / "study file ü.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


@pytest.mark.parametrize(("old", "new", "expected"), WRONG, ids=[new[-30:] for _, new, _ in WRONG])
def test_from_toml_with_a_mistake_names_file_and_key(tmp_path, old, new, expected):
    text = "\n".join(PARTS.values())
    file = written(tmp_path, text.replace(old, new, 1) if old else text + new)
    with pytest.raises(MatchbanditError) as error:
        mb.Study.from_toml(file)
    lines = str(error.value).splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(str(file))
    assert [part for part in expected if part not in lines[0]] == []


def test_from_toml_with_several_mistakes_names_each(tmp_path):
    text = "\n".join(PARTS.values()).replace("runs = 2", "rnus = 2\nseed = -1").replace("0.9", "nan")
    with pytest.raises(MatchbanditError) as error:
        mb.Study.from_toml(written(tmp_path, text))
    lines = str(error.value).splitlines()
    assert len(lines) == 3
    assert all(any(key in line for line in lines) for key in ("rnus", "seed", "problem.u"))


@pytest.mark.parametrize("text", ['name = "x\n', b"\xff\xfe\x00", "a = " + "[" * 3000 + "]" * 3000, ""])
def test_from_toml_of_no_study_names_the_file(tmp_path, text):
    with pytest.raises(MatchbanditError, match=r"study file ü\.toml"):
        mb.Study.from_toml(written(tmp_path, text))
