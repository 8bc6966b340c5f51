"""Pure combinatorics: in which rounds who meets whom."""

from matchbandit.schedules.round_robin import latin_design, round_robin

__all__ = ["latin_design", "round_robin"]
