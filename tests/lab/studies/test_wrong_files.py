"""Hostile study files: each is refused with the path of the file and of the key."""

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
SPIKED = '[problem]\nfamily = "spiked"\nn = 4\ngap = 0.3'
WRONG = [
    ("horizon = 100", "horizon = 100\nepsilon = 0.1", ["epsilon", "delta"]),
    ("horizon = 100", "horizon = 100\ncheckpoints = [50, 5000]", ["checkpoints", "5,000"]),
    ("horizon = 100", "delta = 0.1\ncheckpoints = [10]", ["checkpoints", "horizon"]),
    ('["uts"]', "[]", ["policies"]),
    ('["uts"]', "[{gamma = 2}]", ["policies.0", "name"]),
    ('["uts"]', "[{name = 'uts', gamma = 2026-01-01}]", ["policies.0.gamma"]),
    ('["uts"]', '["pair-select"]', ["pair-select", "identif"]),
    ('["uts"]', '["no_such_module:Mine"]', ["no_such_module"]),
    ('["uts"]', '["..os:x"]', ["..os:x"]),
    ('["uts"]', '["os:system"]', ["policies.0", "os:system"]),
    ("[0.9, 0.3]", "0.9", ["problem.u"]),
    ("[0.9, 0.3]", "[0.9, 1.3]", ["problem.u", "1.3"]),
    ("[0.9, 0.3]", "[0.9, nan]", ["problem.u", "nan"]),
    ("[0.9, 0.3]", "[0.9, 0.3]\nmeans = [[0.1]]", ["problem", "means"]),
    ("[0.9, 0.3]", '[0.9, 0.3]\ndrift = {kind = "walk"}', ["problem.drift", "walk"]),
    (PARTS["problem"], 'problem = "spiked"', ["problem", "spiked"]),
    (PARTS["problem"], "problem = []", ["problem"]),
    (PARTS["problem"], SPIKED, ["problem", "u1"]),
    ("", "[sweep]\nruns = [1, 2]", ["sweep.runs"]),
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


@pytest.mark.parametrize(
    "text", [b"\xff\xfe\x00", "a = " + "[" * 3000 + "]" * 3000, ""], ids=["bytes", "nested", "empty"]
)
def test_from_toml_of_no_study_names_the_file(tmp_path, text):
    with pytest.raises(MatchbanditError, match=r"study file ü\.toml"):
        mb.Study.from_toml(written(tmp_path, text))
