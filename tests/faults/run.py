"""Put faults into the source, one at a time, and see whether the quick suite fails.

    python tests/faults/run.py                   # all faults of faults.toml
    python tests/faults/run.py kl-sign "drawn*"  # some
    python tests/faults/run.py --tests tests/contract  # whether these tests catch them
    python tests/faults/run.py --draw 20 --seed 7  # print faults drawn from all numerical code, for faults.toml

A fault is a text of the source, found in whatever file it is in, and what replaces it. Each is put into a copy of the
project. The tests of its module run first, then the contract, then the whole quick suite, up to the first failure. The
exit code is 1 if a fault survives that is not marked as equivalent.
"""

import argparse
import ast
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = Path("src/matchbandit")
NUMERICAL = (
    "kl.py", "confidence.py", "strengths.py", "certificates.py", "evidence.py", "estimation.py", "product_model.py",
    "placement.py", "rewards.py", "graphs.py", "solvers/*.py", "theory/*.py", "schedules/*.py", "plans/*.py",
    "problems/*.py", "policies/*.py", "policies/*/*.py", "simulation/score.py", "results/statistics.py",
)  # fmt: skip
"""Where faults are drawn: kernels, formulas and solvers."""
STEPS = (["tests/contract"], ["tests", "src", "--ignore=tests/contract"])
"""What runs on a fault after the tests of its module, until something fails."""
TIME_LIMIT_S = 900
MODULE_TIME_LIMIT_S = 300
"""A fault that makes a test run forever is caught by whoever waits; the tests of a module take seconds without it."""
FLIPS: dict[type[ast.AST], str] = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"
}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("patterns", nargs="*", default=["*"], help="names of faults, such as 'drawn*'")
    parser.add_argument("--tests", nargs="+", metavar="PATH", help="run these alone")
    parser.add_argument("--draw", type=int, metavar="N", help="print N faults drawn from the numerical code")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    chosen = parser.parse_args()
    if chosen.draw:
        print(draw(chosen.draw, chosen.seed))
        return 0
    faults = [fault for fault in load() if any(fnmatch(fault["name"], pattern) for pattern in chosen.patterns)]
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "matchbandit"
        copy_project(copy)
        for fault in faults:
            began = time.monotonic()
            killer = first_failure(copy, fault, chosen.tests)
            survives = killer is None and "equivalent" not in fault
            survivors += survives
            verdict = f"caught by {killer}" if killer else "SURVIVES" if survives else "survives, as it is equivalent"
            print(f"{fault['name']}: {verdict} ({time.monotonic() - began:.0f} s)", flush=True)
    print(f"{len(faults)} faults, {survivors} survive")
    return 1 if survivors else 0


def load() -> list[dict[str, Any]]:
    """All faults of the list."""
    faults: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("faults.toml").read_text())["fault"]
    return faults


def place_of(old: str, source: Path) -> Path:
    """The only file with this text; an error if there is none, or several."""
    files = [file for file in sorted(source.rglob("*.py")) if file.read_text().count(old)]
    if len(files) != 1 or files[0].read_text().count(old) != 1:
        raise ValueError(f"not in exactly one place ({[str(file) for file in files]}): {old!r}")
    return files[0]


def copy_project(copy: Path) -> None:
    """All files under version control, with changes that are not committed yet."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)


def first_failure(copy: Path, fault: dict[str, Any], paths: list[str] | None = None) -> str | None:
    """The first test that fails with this fault in the copy, of those in these paths or of all."""
    file = place_of(fault["old"], copy / PACKAGE)
    text = file.read_text()
    file.write_text(text.replace(fault["old"], fault["new"]))
    try:
        of_module = sorted(str(test.relative_to(copy)) for test in (copy / "tests").rglob(f"test_{file.stem}*.py"))
        for tests in filter(None, (of_module, *STEPS) if paths is None else (paths,)):
            failure = run_tests(copy, tests, MODULE_TIME_LIMIT_S if tests is of_module else TIME_LIMIT_S)
            if failure:
                return failure
        return None
    finally:
        file.write_text(text)


def run_tests(copy: Path, tests: list[str], time_limit_s: float) -> str | None:
    """The first test of these that fails."""
    environment = {"MATCHBANDIT_CACHE": str(ROOT / ".numba_cache"), **os.environ}
    environment["PYTHONPATH"] = str(copy / "src")
    command = [sys.executable, "-m", "pytest", *tests, "-n", "2", "--dist", "loadgroup", "--no-loadscope-reorder"]
    command += ["-q", "-x", "--no-header", "-p", "no:cacheprovider", "--tb=no"]
    # Tests start processes of their own, which must end with them.
    with subprocess.Popen(
        command, cwd=copy, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    ) as run:  # fmt: skip
        try:
            output, _ = run.communicate(timeout=time_limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            return f"no answer within {time_limit_s} s"
    if run.returncode == 0:
        return None
    if run.returncode not in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED):
        raise RuntimeError(f"the tests did not run: {output[-2000:]}")
    failures = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failures[0].removeprefix("FAILED ").removeprefix("ERROR ")[:160] if failures else output[-300:]


# Drawing ---------------------------------------------------------------------------------------------------------


def draw(number: int, seed: int) -> str:
    """Faults drawn from all numerical code, as TOML: a statement with one operator, number or pair of arguments off."""
    source = ROOT / PACKAGE
    files = sorted({file for pattern in NUMERICAL for file in source.glob(pattern)})
    faults = [fault for file in files for fault in candidates(file)]
    rng = random.Random(seed)
    rng.shuffle(faults)
    lines, names = [], 0
    for old, new in faults:
        try:
            place_of(old, source)
        except ValueError:
            continue
        names += 1
        lines += ["[[fault]]", f'name = "drawn-{names:02d}"', f"old = {quote(old)}", f"new = {quote(new)}", ""]
        if names == number:
            break
    return "\n".join(lines)


def quote(text: str) -> str:
    return f"'''{text}'''" if "\n" in text or "'" in text or '"' in text else f"'{text}'"


def candidates(file: Path) -> Iterator[tuple[str, str]]:
    """All faults that a file could get, as the lines of a statement before and after."""
    text = file.read_text()
    lines = text.splitlines()
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef):
            for statement in function.body:
                yield from _in_statement(statement, lines)


def _in_statement(statement: ast.stmt, lines: list[str]) -> Iterator[tuple[str, str]]:
    skipped = (ast.Raise, ast.Assert, ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
    if isinstance(statement, skipped) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    ):
        return
    nested = [child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.stmt)]
    for child in nested:
        yield from _in_statement(child, lines)
    expressions = [child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.expr)]
    for expression in expressions:
        for node in ast.walk(expression):
            for first, last, new in _replacements(node, lines):
                if node.lineno == node.end_lineno:
                    line = lines[node.lineno - 1]
                    raw = line.encode()
                    changed = (raw[:first] + new.encode() + raw[last:]).decode()
                    yield line.strip(), changed.strip()


def _replacements(node: ast.AST, lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """The columns of a line, in bytes, and what may stand there instead."""
    if isinstance(node, ast.BinOp) and type(node.op) in FLIPS and node.left.end_lineno == node.right.lineno:
        between = lines[node.right.lineno - 1].encode()[node.left.end_col_offset : node.right.col_offset].decode()
        sign = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}[type(node.op)]
        at = between.find(sign)
        if at >= 0:
            start = node.left.end_col_offset + at
            yield start, start + 1, FLIPS[type(node.op)]
            if isinstance(node.op, ast.Add | ast.Sub) and ")" not in between and "(" not in between:
                yield node.left.end_col_offset, node.end_col_offset or 0, ""  # the term is dropped
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in FLIPS and node.left.end_lineno == node.lineno:
        between = lines[node.lineno - 1].encode()[node.left.end_col_offset : node.comparators[0].col_offset].decode()
        operator = between.strip(" ()")
        start = node.left.end_col_offset + between.index(operator)
        yield start, start + len(operator), FLIPS[type(node.ops[0])]
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        more = repr(node.value + 1) if isinstance(node.value, int) else repr(2 * node.value or 1.0)
        yield node.col_offset, node.end_col_offset or 0, more
    elif isinstance(node, ast.Call) and len(node.args) > 1 and node.lineno == node.end_lineno:
        one, two = node.args[:2]
        text = lines[node.lineno - 1].encode()
        first = text[one.col_offset : one.end_col_offset].decode()
        between = text[one.end_col_offset : two.col_offset].decode()
        second = text[two.col_offset : two.end_col_offset].decode()
        if first != second and not isinstance(one, ast.Starred) and not isinstance(two, ast.Starred):
            yield one.col_offset, two.end_col_offset or 0, f"{second}{between}{first}"


if __name__ == "__main__":
    sys.exit(main())
