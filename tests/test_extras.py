"""The core without what is an extra: a process in which the extras cannot be imported."""

import json
import subprocess
import sys

import pytest

from matchbandit.errors import MatchbanditError
from matchbandit.extras import need

BLOCKER = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"matplotlib", "pyarrow", "pandas", "dask", "plotly", "fastapi", "sqlalchemy"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocker())
"""
QUIET = "from matchbandit import numba_cache; numba_cache.NOTICE_AFTER_S = 1e6"
SLOTS = ["--u", "0.9,0.3", "--v", "0.8,0.2"]
RUNS = ["--runs", "2", "--workers", "1"]


@pytest.fixture(scope="module")
def blocked(tmp_path_factory):
    """Run Python without the extras, in a folder that stays empty; gives exit code, stdout and stderr."""
    site, work = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("work")
    (site / "blocker.py").write_text(BLOCKER)

    def run(text):
        begin = f"import sys; sys.path.insert(0, {str(site)!r}); import blocker\n{QUIET}\n"
        made = subprocess.run(
            [sys.executable, "-c", begin + text], cwd=work, capture_output=True, text=True, check=False
        )
        assert list(work.iterdir()) == []
        return made.returncode, made.stdout, made.stderr

    return run


def typed(*lines):
    """A script that types these commands and prints a JSON list of exit codes, stdouts and stderrs."""
    return f"""
import contextlib, io, json
from matchbandit.cli import main
ends = []
for words in {[list(line) for line in lines]!r}:
    sys.argv = ["matchbandit", *words]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            ends.append((end.code or 0, out.getvalue(), err.getvalue()))
print(json.dumps(ends))
"""


def test_the_core_works_without_the_extras(blocked):
    code, out, err = blocked("""
import matchbandit as mb
slots, players = mb.Bipartite([0.9, 0.3], [0.8, 0.2]), mb.Monopartite([0.9, 0.8, 0.2, 0.1])
for name in mb.CATALOGUE:
    mb.policy(name)
runs = mb.simulate(slots, "pair-elim", horizon=1000, runs=2, seed=1)
found = mb.identify(players, mb.policy("matching-id", delta=0.1), runs=2, seed=1)
live = mb.policy("uts").build(mb.bipartite(2, 3), seed=1)
live.tell(live.ask(), [1])
mb.restore(live.state())
assert mb.bounds(slots, horizon=1000) and mb.quantities(players)
print(runs, found)
for work in (lambda: runs.save("runs.parquet"), lambda: mb.plot_bounds(slots, [runs])):
    try:
        work()
    except mb.MatchbanditError as missing:
        print(missing)
""")
    assert (code, err) == (0, "")
    assert out.splitlines()[-2:] == [
        f"{purpose}, which is not installed. Install it with: pip install 'matchbandit[lab]'"
        for purpose in ("keeping results needs pyarrow", "drawing needs matplotlib")
    ]


SIMULATE = ["simulate", "--policy", "pair-elim", *SLOTS, "--horizon", "1000", *RUNS]
IDENTIFY = ["identify", "--policy", "pair-elim", "--delta", "0.1", *SLOTS, *RUNS]
BOUNDS = ["bounds", *SLOTS, "--horizon", "1000"]
WORK = [["--help"], ["policies"], SIMULATE, IDENTIFY, BOUNDS, ["league", "--help"]]
NEED_PYARROW = [[*SIMULATE, "--save", "x.parquet"], [*IDENTIFY, "--save", "x.parquet"]]
NEED_MATPLOTLIB = [[*BOUNDS, "--figure", "x.png"], ["reproduce", "u1-ratio"]]
NEED_LIVE = [["league", "new", "club", "ann", "bob"], ["serve"], ["token", "list"]]


@pytest.fixture(scope="module")
def ends(blocked):
    """Exit code, stdout and stderr of every command line above, typed one after the other without the extras."""
    lines = [*WORK, *NEED_PYARROW, *NEED_MATPLOTLIB, *NEED_LIVE]
    code, out, err = blocked(typed(*lines))
    assert (code, err) == (0, "")
    return {" ".join(line): end for line, end in zip(lines, json.loads(out), strict=True)}


@pytest.mark.parametrize("line", WORK, ids=" ".join)
@pytest.mark.sampled(1)
def test_the_command_line_works_without_the_extras(ends, line):
    code, out, err = ends[" ".join(line)]
    assert (code, err) == (0, "")
    assert out


@pytest.mark.parametrize("line", [*NEED_PYARROW, *NEED_MATPLOTLIB], ids=" ".join)
@pytest.mark.sampled(1)
def test_what_needs_an_extra_says_which_and_how_before_any_work(ends, line):
    purpose = "keeping results needs pyarrow" if line in NEED_PYARROW else "drawing needs matplotlib"
    hint = "which is not installed. Install it with: pip install 'matchbandit[lab]'\n"
    assert ends[" ".join(line)] == [2, "", f"error: {purpose}, {hint}"]


@pytest.mark.parametrize("line", NEED_LIVE, ids=" ".join)
def test_leagues_need_their_extra_and_say_so(ends, line):
    code, out, err = ends[" ".join(line)]
    assert (code, out) == (2, "")
    assert err.endswith(", which is not installed. Install it with: pip install 'matchbandit[leagues]'\n")


def test_a_module_that_is_there_is_given():
    assert need("json.decoder", "reading").JSONDecoder is json.JSONDecoder


def test_a_module_that_breaks_by_itself_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "breaks.py").write_text("import nowhere_to_be_found")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="nowhere_to_be_found"):
        need("breaks", "drawing")
    with pytest.raises(MatchbanditError, match="drawing needs nowhere_near, which is not installed"):
        need("nowhere_near.at_all", "drawing")
