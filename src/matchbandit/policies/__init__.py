"""What to play: one file per algorithm, and a plain dict as the catalogue."""

from matchbandit.policies.base import Policy, Setting
from matchbandit.policies.catalogue import CATALOGUE, PolicySpec, policy, restore
from matchbandit.policies.contract import check_policy
from matchbandit.policies.planned import PlannedPolicy
from matchbandit.policies.rounds import RoundPolicy

__all__ = [
    "CATALOGUE",
    "PlannedPolicy",
    "Policy",
    "PolicySpec",
    "RoundPolicy",
    "Setting",
    "check_policy",
    "policy",
    "restore",
]
