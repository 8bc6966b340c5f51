"""What to play: one file per algorithm, and a plain dict as the catalogue."""

from matchbandit.policies.base import Policy, Setting
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.catalogue import CATALOGUE, PolicySpec, for_decisions, policy, restore
from matchbandit.policies.check import check_policy
from matchbandit.policies.decision import Decision
from matchbandit.policies.planned_policy import PlannedPolicy
from matchbandit.policies.round_policy import RoundPolicy

__all__ = [
    "CATALOGUE",
    "Capabilities",
    "Decision",
    "PlannedPolicy",
    "Policy",
    "PolicySpec",
    "RoundPolicy",
    "Setting",
    "check_policy",
    "for_decisions",
    "policy",
    "restore",
]
