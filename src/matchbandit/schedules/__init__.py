"""Pure combinatorics: in which rounds who meets whom."""

from matchbandit.schedules.round_robin import all_meet, latin_design, round_robin

__all__ = ["all_meet", "latin_design", "round_robin"]
