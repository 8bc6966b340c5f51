"""Pure combinatorics: in which rounds who meets whom."""

from matchbandit.schedules.batches import RegretSchedule, Schedule, next_batch, next_regret_batch
from matchbandit.schedules.chains import Chain, chain, chain_ends, schemes
from matchbandit.schedules.round_robin import all_meet, latin_design, round_robin

__all__ = [
    "Chain",
    "RegretSchedule",
    "Schedule",
    "all_meet",
    "chain",
    "chain_ends",
    "latin_design",
    "next_batch",
    "next_regret_batch",
    "round_robin",
    "schemes",
]
