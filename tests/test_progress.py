import io
import sys

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
    assert lines[0] == "simulating uts: 2 of 1000 runs, 1 a second, 17 min left"
    told = [int(line.split()[2]) for line in lines]
    assert told == [2, 6, 14, 30, 62, 126, 254, 510, 810]


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
