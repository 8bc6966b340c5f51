"""Study files: read as they are meant, refused with file and line."""

import os
import sys
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import matchbandit as mb
from matchbandit.studies.toml_file import line_of, lines_in

GAPS = """\
name = "gaps"
runs = 20
seed = 7
horizon = 1e5   # or delta = 0.05
policies = ["uts", {name = "pair-elim", growth = [1.05, 4]}]

[problem]
family = "spiked"
n = 8
u1 = 0.9
gap = [0.5, 0.6, 0.7]
"""
OWN = """\
import matchbandit as mb
from matchbandit.policies.uniform import Uniform


class Mine(Uniform):
    name = "mine"


def drawn(n: int, *, rewards, rng):
    return mb.Bipartite(rng.uniform(size=n), [0.5], rewards=rewards)
"""


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a file into a folder that is not the current one; forget what was imported from there."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    folder = tmp_path / "studies"
    folder.mkdir()
    monkeypatch.chdir(elsewhere)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)

    def written(text, name="gaps.toml", place=folder):
        file = place / name
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    yield written
    for name in set(sys.modules) - before:
        if name.startswith("own_"):
            del sys.modules[name]


def refusal(file):
    with pytest.raises(mb.MatchbanditError) as refused:
        mb.Study.from_toml(file)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_a_file_says_what_python_says(write):
    told = mb.Study.from_toml(write(GAPS))
    assert told == mb.Study(
        name="gaps", runs=20, seed=7, horizon=100_000,
        policies=["uts", {"name": "pair-elim", "growth": [1.05, 4]}],
        problem={"family": "spiked", "n": 8, "u1": 0.9, "gap": [0.5, 0.6, 0.7]},
    )  # fmt: skip
    assert len(told.points) == 9


def test_tables_one_by_one_are_a_list_of_problems_and_of_policies(write):
    text = """\
name = "two"
horizon = 100
[[problem]]
u = [0.9, 0.3]
v = [0.8, 0.4]
[[problem]]
means = [[0.9, 0.1], [0.2, 0.3]]
rewards = "binomial:4"
[[policies]]
name = "uts"
[[policies]]
name = "pair-elim"
growth = 2
"""
    made = mb.Study.from_toml(write(text))
    assert [point.title for point in made.points] == [
        "uts at bipartite", "uts at means", "pair-elim at bipartite", "pair-elim at means",
    ]  # fmt: skip
    assert made.points[1].problem.rewards == mb.Binomial(4)


@pytest.mark.parametrize("text", [b"\xef\xbb\xbf" + GAPS.encode(), GAPS.replace("\n", "\r\n").encode()])
def test_marks_and_line_ends_of_other_systems_do_no_harm(write, text):
    assert mb.Study.from_toml(write(text)).name == "gaps"
    changed = text.replace(b"gap =", b"gab =")
    assert refusal(write(changed)).partition(": ")[0].endswith("gaps.toml, line 11")


MISTAKES = [
    ("horizon = 1e5", "horzion = 1e5", 4, "unknown key 'horzion'; did you mean 'horizon'?"),
    ("runs = 20", "runs = 0", 2, "runs must be a whole number, at least 1; got 0"),
    ("seed = 7", "seed = 2026-01-01", 3, "seed must be"),
    ("seed = 7", "delta = 0.1", 3, "both horizon and delta"),
    ('name = "gaps"', 'name = "a/b"', 1, "name must be"),
    ('"uts"', '"utz"', 5, "did you mean 'uts'"),
    ("growth = [1.05, 4]", "grwth = [1.05, 4]", 5, "did you mean 'growth'"),
    ("growth = [1.05, 4]", "growth = []", 5, "empty list"),
    ('["uts",', '[\n  "uts",\n ', 7, "growth = 0.5: growth must lie"),
    ('["uts",', '[ # first\n  "uts", # [\n\n "uts", ', 8, "uts at gap = 0.5 is there twice"),
    ('"spiked"', '"spikd"', 8, "did you mean 'spiked'"),
    ("n = 8", "n = 8.5", 9, "n must be a whole number"),
    ("u1 = 0.9", "u2 = 0.9", 10, "unknown parameter of spiked 'u2'. Known: n, u1, gap, rewards, drift."),
    ("gap = [0.5, 0.6, 0.7]", "gap = [0.5, 1.2]", 11, "at gap = 1.2: gap must lie in [0, 1]"),
    ("gap = [0.5, 0.6, 0.7]", "gap = 0.5\nruns = 3", 12, "runs belongs to the study"),
    ("gap = [0.5, 0.6, 0.7]", "gap = 2026-01-01", 11, "gap must be a number"),
    ("gap = [0.5, 0.6, 0.7]", "gap = nan", 11, "gap must be a finite number"),
    ("gap = [0.5, 0.6, 0.7]", "gap = [0.5, 0.5]", 11, "uts at gap = 0.5 is there twice"),
    ("gap = [0.5, 0.6, 0.7]", "gap = [0.5,", 11, "at the end of the file"),
    ("n = 8", "n = ", 9, "Invalid value"),
    ("gap = [0.5, 0.6, 0.7]", "gap = [0.5, .6]", 11, "'.6' is not a value of TOML. Write a digit before the point"),
    ('"spiked"', "spiked  # bare", 8, "'spiked' is not a value of TOML. Put text into quotes"),
    ("n = 8", 'n = 8\nn = 9', 10, "Cannot overwrite a value"),
    ("[problem]", "[problem", 7, "Expected"),
    ("u1 = 0.9", "rewards = \"gauss:1\"", 10, "did you mean 'gaussian'"),
    ("[problem]", "[[problem]]\nu = [0.9, 0.1]\nv = [2.0]\n[[problem]]", 9, "v must lie in [0, 1]"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "line", "told"), MISTAKES, ids=[f"{new} {told}" for _, new, _, told in MISTAKES]
)
def test_a_mistake_is_named_with_file_and_line(write, old, new, line, told):
    text = GAPS.replace(old, new)
    if "growth = 0.5" in told:
        text = text.replace("4]", "0.5]")
    assert text != GAPS
    file = write(text)
    message = refusal(file)
    assert message.startswith(f"{file}, line {line}: ")
    assert told in message


def test_what_stands_nowhere_is_named_with_the_file_alone(write):
    file = write("runs = 3\n")
    assert refusal(file).startswith(f"{file}: ")
    assert "missing: name, problem, policies" in refusal(file)
    without = write("\n".join(line for line in GAPS.splitlines() if "horizon" not in line))
    assert refusal(without).startswith(f"{without}: ")
    behind = write("[problem]\nu = [0.9]\nv = [0.5]\nname = 'a'\npolicies = ['uts']\n")
    assert "line 4: name " in refusal(behind)
    for end in ("horizon = 10", "delta = 0.1"):
        behind = write(f"name = 'a'\npolicies = ['uts']\n[problem]\nu = [0.9]\nv = [0.5]\n{end}\n")
        assert f"line 6: {end.split()[0]} " in refusal(behind)


def test_what_cannot_be_read_is_one_line(write, tmp_path):
    for path in (tmp_path / "none.toml", tmp_path, "a\0b.toml"):
        assert repr(str(path)) in refusal(path)
    assert "line 2: " in refusal(write(b'name = "a"\nproblem = "\xff"\n'))
    assert "name, problem, policies" in refusal(write(""))
    assert "gaps.toml" in refusal(write("a = " + "[" * 5000 + "]" * 5000))
    assert "line 1" in refusal(write(b"\x89PNG\r\n"))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert refusal(pipe).startswith(repr(str(pipe)))


def test_code_of_ones_own_is_found_beside_the_file(write):
    write(OWN, "own_beside.py")
    text = GAPS.replace('"uts"', '"own_beside:Mine"').replace('"spiked"', '"own_beside:drawn"')
    text = "\n".join(line for line in text.splitlines() if not line.startswith(("u1", "gap")))
    made = mb.Study.from_toml(write(text))
    assert made.user_modules == ("own_beside",)
    assert made.points[0].play(0, 1).about.policy == "mine"


def test_code_of_ones_own_is_found_in_the_current_folder(write, tmp_path):
    write(OWN, "own_current.py", tmp_path / "elsewhere")
    assert mb.Study.from_toml(write(GAPS.replace('"uts"', '"own_current:Mine"'))).user_modules == ("own_current",)


@pytest.mark.parametrize(
    ("code", "name", "told"),
    [
        (OWN, "own_wrong:Mini", "'Mini'; did you mean 'Mine'"),
        (OWN, "own_wrong:drawn", "own_wrong:drawn"),
        (OWN, "own_wrnog:Mine", "'own_wrnog'; did you mean 'own_wrong'"),
        ("import nowhere_here", "own_wrong:Mine", "nowhere_here"),
        ("x = 1\ny = x / 0", "own_wrong:Mine", "(own_wrong.py, line 2)"),
        ("def f(:\n", "own_wrong:Mine", "(own_wrong.py, line 1)"),
        ("raise SystemExit", "own_wrong:Mine", "SystemExit (own_wrong.py, line 1)"),
        (OWN, "own wrong:Mine", "'own wrong:Mine'"),
    ],
)
def test_code_of_ones_own_that_cannot_be_had_is_one_line(write, code, name, told):
    write(code, "own_wrong.py")
    file = write(GAPS.replace('"uts"', f'"{name}"'))
    message = refusal(file)
    assert message.startswith(f"{file}, line 5: ")
    assert told in message


def test_two_modules_of_one_name_are_not_mixed_up(write, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    write(OWN, "own_twice.py")
    write(OWN, "own_twice.py", other)
    text = GAPS.replace('"uts"', '"own_twice:Mine"')
    mb.Study.from_toml(write(text))
    assert "is imported already, from" in refusal(write(text, place=other))
    write(OWN, "random.py", other)
    assert "is imported already" in refusal(write(GAPS.replace('"uts"', '"random:Mine"'), place=other))


def test_lines_of_a_file_with_everything():
    text = (
        '''\
# a comment with [brackets] = and "quotes"
"a b".c = 1
d = """
e = 2
\\""" still # inside
"""
f = [
  'it'''
        + """', # ]
  {g = "}", h = [1,
     2]},
]
i = 1979-05-27 07:32:00 # a date
[j.k] # a table
l = {}
[[j.m]]
n = '''
o = 3'''
[j.m.p]
q = []
[[j.m]]
"""
    )
    assert tomllib.loads(text)
    lines = lines_in(text)
    expected = {
        ("a b", "c"): 2, ("d",): 3, ("f",): 7, ("f", 0): 8, ("f", 1): 9, ("f", 1, "g"): 9, ("f", 1, "h", 1): 10,
        ("i",): 12, ("j", "k"): 13, ("j", "k", "l"): 14, ("j", "m", 0): 15, ("j", "m", 0, "n"): 16,
        ("j", "m", 0, "p", "q"): 19, ("j", "m", 1): 20,
    }  # fmt: skip
    assert {path: lines.get(path) for path in expected} == expected
    assert set(lines) == paths(tomllib.loads(text))
    assert line_of(text, ("f", 1, "h", 1, "deeper")) == 10
    assert line_of(text, ("nowhere",)) is None


@pytest.mark.parametrize("text", ["a = [1, ]]", "= 1", "a = [", "a = {b", "[a", "a = 'x", "]", "a = {b = 1,, }", "a\0"])
def test_lines_of_what_is_no_toml_are_found_as_far_as_it_goes(text):
    assert set(lines_in(f"first = 1\n{text}")) >= {("first",)}


def paths(data, before=()):
    """All ways into the data."""
    inside = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return {path for key, value in inside for path in [(*before, key), *paths(value, (*before, key))]}


KEYS = st.one_of(st.text("abc-_1", min_size=1, max_size=3), st.text(max_size=4))
SCALARS = st.one_of(
    st.integers(-5, 5), st.booleans(), st.text(max_size=6), st.sampled_from(["#", '"""', "]", "\n", "'"])
)
INLINE = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=2)),
    max_leaves=6,
)


def quoted(text):
    """A basic string, everything but plain letters escaped."""
    return '"' + "".join(c if c.isascii() and c.isalnum() else f"\\U{ord(c):08x}" for c in text) + '"'


def spelt(value, draw):
    """The value in TOML, in one of the ways in which it can be written."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        ways = [quoted(value)]
        if value.isprintable() and "'" not in value:
            ways += [f"'{value}'", f"'''\n{value}'''"]
        if value.isprintable() and '"' not in value and "\\" not in value:
            ways += [f'"{value}"', f'"""{value}"""']
        return draw(st.sampled_from(ways))
    if isinstance(value, list):
        between = draw(st.sampled_from([", ", ",\n", ", # ]\n  "]))
        end = draw(st.sampled_from(["", ",", "\n"])) if value else ""
        return f"[{between.join(spelt(each, draw) for each in value)}{end}]"
    return "{" + ", ".join(f"{quoted(key)} = {spelt(each, draw)}" for key, each in value.items()) + "}"


def named(key, draw):
    bare = key.isascii() and key and all(c.isalnum() or c in "-_" for c in key)
    return key if bare and draw(st.booleans()) else quoted(key)


@st.composite
def documents(draw):
    """Texts of TOML with tables, tables in arrays, comments and blank lines."""
    lines = []

    def settle(table):
        for key, value in table.items():
            lines.extend(draw(st.lists(st.sampled_from(["", "# x = 1", "  # ]"]), max_size=1)))
            lines.append(f"{named(key, draw)} = {spelt(value, draw)}")

    settle(draw(st.dictionaries(KEYS, INLINE, max_size=3)))
    for number, (many, tables) in enumerate(draw(st.lists(st.tuples(st.booleans(), st.lists(
        st.dictionaries(KEYS, INLINE, max_size=2), min_size=1, max_size=2)), max_size=2))):  # fmt: skip
        for table in tables if many else tables[:1]:
            lines.append(f"[[table{number}]]" if many else f"[ table{number} . 'in' ]")
            settle(table)
    return "\n".join(lines)


@settings(max_examples=60, deadline=None)
@given(documents())
def test_every_setting_of_any_file_has_the_line_on_which_it_begins(text):
    data = tomllib.loads(text)
    lines = lines_in(text)
    assert set(lines) == paths(data)
    assert all(1 <= line <= text.count("\n") + 1 for line in lines.values())
    in_order = [line for path, line in lines.items()]
    assert in_order == sorted(in_order)  # they are met from top to bottom
    assert lines_in(text.replace("\n", "\r\n")) == lines
