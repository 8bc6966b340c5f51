import io
import sys
from types import SimpleNamespace

import pytest

from matchbandit import progress


class Clock:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self):
        return self.now


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock():
    return Clock()


def test_short_work_says_nothing(clock, capsys):
    with progress.bar("simulating uts", clock=clock) as advance:
        for done in range(1, 11):
            clock.now += 0.19
            advance("runs", done, 10)
    assert capsys.readouterr() == ("", "")


def test_long_work_says_a_line_after_two_seconds_and_then_at_growing_intervals(clock, capsys):
    with progress.bar("simulating uts", clock=clock) as advance:
        for done in range(1, 1001):
            clock.now += 1
            advance("runs", done, 1000)
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert lines[0] == "simulating uts: 2 of 1,000 runs, 1 per second, 16.6 min left"
    told = [int(line.split()[2]) for line in lines]
    assert told == [2, 6, 14, 30, 62, 126, 254, 510, 810]


def test_the_time_left_does_not_include_compiling(clock, capsys):
    """The first run compiles for a minute, the others take a second each."""
    with progress.bar("simulating uts", clock=clock) as advance:
        clock.now += 60
        advance("runs", 1, 100)
        clock.now += 5
        advance("runs", 6, 100)
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["simulating uts: 1 of 100 runs", "simulating uts: 6 of 100 runs, 1 per second, 94 s left"]


def test_the_end_is_not_told_for_the_result_speaks(clock, capsys):
    with progress.bar("identifying", clock=clock) as advance:
        clock.now += 50
        advance("runs", 0, 1)
        advance("runs", 1, 1)
    assert capsys.readouterr().err == ""


def test_a_terminal_gets_a_bar_on_stderr_and_nothing_on_stdout(monkeypatch, capsys):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress.bar("simulating uts") as advance:
        advance("runs", 3, 10)
    assert "simulating uts: runs" in terminal.getvalue()
    assert capsys.readouterr().out == ""


class Timer:
    """A timer that is due when it is told to be."""

    def __init__(self, seconds, function):
        self.seconds, self.ring, self.state = seconds, function, "made"

    def start(self):
        self.state = "started"

    def cancel(self):
        self.state = "cancelled"


def test_a_stage_says_a_line_when_two_seconds_have_passed_and_none_once_it_is_over(monkeypatch, capsys):
    timers = []
    monkeypatch.setattr(progress.threading, "Timer", lambda *settings: timers.append(Timer(*settings)) or timers[-1])
    with progress.stage("watching uts: drawing"):
        (timer,) = timers
        assert (timer.seconds, timer.state) == (progress.FIRST_LINE_S, "started")
        assert capsys.readouterr() == ("", "")
        timer.ring()
        assert capsys.readouterr() == ("", "watching uts: drawing\n")
    assert timer.state == "cancelled"
    with pytest.raises(KeyError), progress.stage("watching uts: drawing"):
        raise KeyError
    assert timers[1].state == "cancelled"


def test_a_stage_is_a_spinner_on_a_terminal(monkeypatch, capsys):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress.stage("watching uts: drawing"):
        pass
    assert "watching uts: drawing" in terminal.getvalue()
    assert capsys.readouterr().out == ""


def test_a_study_says_runs_parts_rate_and_time_left_at_growing_intervals(clock, capsys):
    with progress.study_bar("gaps", clock=clock) as advance:
        for done in range(50, 401):
            clock.now += 0.5
            advance(progress.StudyProgress(done, 400, done // 10, 40, earlier_runs=50))
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert lines[0] == "gaps: 53 of 400 runs, 5 of 40 parts, 2 runs per second, 2.89 min left"
    assert [int(line.split()[1]) for line in lines] == [53, 61, 77, 109, 173, 301]


def test_a_study_speaks_also_while_nothing_moves(clock, capsys):
    with progress.study_bar("gaps", clock=clock) as advance:
        for _ in range(100):
            clock.now += 0.1
            advance(progress.StudyProgress(0, 400, 0, 40, activity="compiling escb"))
    assert capsys.readouterr().err.splitlines() == ["gaps: 0 of 400 runs, 0 of 40 parts, compiling escb"] * 2


def test_compiling_does_not_count_for_the_rate(clock, capsys):
    with progress.study_bar("gaps", clock=clock) as advance:
        advance(progress.StudyProgress(0, 100, 0, 10, activity="compiling escb"))
        clock.now += 1.5
        advance(progress.StudyProgress(0, 100, 0, 10, activity="compiling escb"))
        clock.now += 1
        advance(progress.StudyProgress(10, 100, 1, 10))
    assert capsys.readouterr().err == "gaps: 10 of 100 runs, 1 of 10 parts, 10 runs per second, 9 s left\n"


def test_the_time_left_is_told_when_a_few_runs_are_done():
    told = [
        progress.describe_progress(progress.StudyProgress(40 + new, 100, 0, 10, earlier_runs=40), 6)
        for new in (1, 2, 3)
    ]
    assert ["left" in words for words in told] == [False, False, True]


def test_a_finished_study_says_nothing(clock, capsys):
    with progress.study_bar("gaps", clock=clock) as advance:
        clock.now += 50
        advance(progress.StudyProgress(400, 400, 40, 40, earlier_runs=400))
    assert capsys.readouterr().err == ""


def test_a_study_on_a_terminal_has_a_bar_with_the_same_words(monkeypatch, capsys):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "200")
    with progress.study_bar("gaps") as advance:
        assert "reading the folder" in terminal.getvalue()
        advance(progress.StudyProgress(0, 400, 0, 40, activity="compiling escb"))
        advance(progress.StudyProgress(3, 400, 0, 40))
    assert "gaps: 3 of 400 runs, 0 of 40 parts" in terminal.getvalue()
    assert capsys.readouterr().out == ""


class Notebook:
    """IPython as a kernel has it: displays that can be updated."""

    def __init__(self):
        self.updates = []
        self.shell = SimpleNamespace(kernel=object())

    def get_ipython(self):
        return self.shell

    def display(self, data, *, raw, display_id):
        assert raw
        assert display_id
        return self

    def update(self, data, *, raw):
        assert raw
        self.updates.append(data)


@pytest.fixture
def notebook(monkeypatch):
    notebook = Notebook()
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setitem(sys.modules, "IPython.display", notebook)
    return notebook


def test_a_study_in_a_notebook_has_a_bar_that_is_updated_now_and_then(notebook, clock, capsys):
    with progress.study_bar("<gaps>", clock=clock) as advance:
        for done in range(401):
            clock.now += 0.05
            advance(progress.StudyProgress(done, 400, done // 10, 40))
    assert 90 <= len(notebook.updates) <= 110  # in 20 seconds
    assert notebook.updates[-1]["text/plain"].startswith("<gaps>: 400 of 400 runs, 40 of 40 parts")
    assert notebook.updates[-1]["text/html"].startswith('<progress value="400" max="400"')
    assert "&lt;gaps&gt;: 400 of 400" in notebook.updates[-1]["text/html"]
    assert capsys.readouterr() == ("", "")


def test_other_work_in_a_notebook_has_a_bar_too(notebook, clock, capsys):
    with progress.bar("simulating uts", clock=clock) as advance:
        advance("runs", 1, 2)
        advance("runs", 2, 2)
    assert [each["text/plain"] for each in notebook.updates] == [
        "simulating uts: 1 of 2 runs", "simulating uts: 2 of 2 runs",
    ]  # fmt: skip
    assert capsys.readouterr() == ("", "")


def test_ipython_on_a_terminal_is_not_a_notebook(notebook):
    assert progress.in_notebook()
    notebook.shell = SimpleNamespace()
    assert not progress.in_notebook()
    notebook.shell = None
    assert not progress.in_notebook()
