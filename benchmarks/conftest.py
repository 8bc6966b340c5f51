"""The measured times beside what the project promises and beside the authors' rates."""

AUTHORS = {"pair-elim": 30_300, "rank1-elim": 65_200}
"""Rounds a second of the authors' code, 8×8, on one core of a 2-core machine."""


def pytest_terminal_summary(terminalreporter, config):
    session = getattr(config, "_benchmarksession", None)
    times = {b.name: b.stats.min for b in session.benchmarks if b.stats.rounds} if session else {}
    say = terminalreporter.write_line

    def line(what, value, beside=""):
        say(f"{what:<66}{value:>16}   {beside}")

    def have(*names):
        return all(name in times for name in names)

    terminalreporter.section("in short (best of all rounds, one core unless said otherwise)")
    for checkpoints, limit in ((1, "10 ms"), (50, "40 ms")):
        short, long = (f"test_jump_pair_elim[{checkpoints}-{horizon}]" for horizon in (10**6, 10**12))
        if have(short, long):
            line(f"jump, pair-elim 8×8, T = 10^6, {checkpoints} checkpoint(s)", f"{times[short] * 1e3:.2f} ms a run")
            line(
                f"jump, pair-elim 8×8, T = 10^12, {checkpoints} checkpoint(s)",
                f"{times[long] * 1e3:.2f} ms a run",
                f"at most {limit}; {times[long] / times[short]:.2f} times T = 10^6, at most 2",
            )
    for name in ("pair-elim", "rank1-elim"):
        slow, fast = f"test_step[{name}]", f"test_jump_two_million[{name}]"
        if have(slow, fast):
            beside = f"authors: {AUTHORS[name]:,}"
            line(f"step, {name} 8×8, rounds a second", f"{20_000 / times[slow]:,.0f}", beside)
            rate = 2_000_000 / times[fast]
            beside += f"; {rate / AUTHORS[name]:,.0f} times as fast"
            line(f"jump, {name} 8×8, T = 2·10^6, rounds a second", f"{rate:,.0f}", beside)
    if have("test_uts_by_ask_and_tell", "test_uts_in_the_compiled_loop"):
        slow = 20_000 / times["test_uts_by_ask_and_tell"]
        fast = 500_000 / times["test_uts_in_the_compiled_loop"]
        line("ask/tell, uts 8×8, rounds a second", f"{slow:,.0f}")
        line("compiled loop, uts 8×8, rounds a second", f"{fast:,.0f}", f"{fast / slow:.0f} times as fast, at least 20")
    for name, least in (("cucb", "at least 300,000"), ("cts-beta", "at least 100,000"), ("cts-gaussian", "")):
        solved = f"test_eight_by_eight_by_a_compiled_solver[{name}]"
        if have(solved):
            line(f"compiled loop, {name} 8×8 matchings, rounds a second", f"{200_000 / times[solved]:,.0f}", least)
    if have("test_all_pair_selection_figures"):
        seconds = times["test_all_pair_selection_figures"]
        line("all pair-selection studies, T = 2·10^6, 20 runs, 2 processes", f"{seconds:.1f} s", "at most 30 s")
    of_leagues(line, times, {b.name: b.extra_info for b in session.benchmarks} if session else {})


def of_leagues(line, times, noted):
    """What a live league promises."""
    for name, what, most in (
        ("test_ask_of_200_players", "ask, 200 players", 25),
        ("test_constrained_ask_of_200_players", "ask, 200 players with exclusions and no rematch", 100),
        ("test_ask_of_2000_players[1.0]", "ask, 2000 players", 250),
        ("test_ask_of_2000_players[0.9]", "ask, 90 % of 2000 players", 250),
        ("test_constrained_ask_of_2000_players", "ask, 2000 players with exclusions and no rematch", 250),
    ):
        if name in times:
            line(f"{what}: 99 % quantile over HTTP", f"{noted[name]['p99'] * 1e3:.1f} ms", f"at most {most} ms")
    if "test_tells" in times:
        line(
            "tells of one outcome, 8 clients, a second, over HTTP", f"{4000 / times['test_tells']:,.0f}", "at least 500"
        )
    if "test_replay_of_a_million_events" in times:
        rate = 10**6 / times["test_replay_of_a_million_events"]
        line("replay of 10^6 events from nothing, events a second", f"{rate:,.0f}", "at least 50,000")
    if "test_restart_after_a_million_events" in times:
        name = "test_restart_after_a_million_events"
        line("restart after 10^6 events, until the first proposal", f"{times[name]:.2f} s", "at most 2 s")
