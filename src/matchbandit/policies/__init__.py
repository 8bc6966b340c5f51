"""What to play: one file per algorithm, and a plain dict as the catalogue."""

from matchbandit.policies.base import Policy, Setting
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.catalogue import CATALOGUE, PolicySpec, counts_policy, policy, restore
from matchbandit.policies.check import ContractError, check_policy
from matchbandit.policies.counts_policy import CountsPolicy
from matchbandit.policies.decision import Decision
from matchbandit.policies.explanation import Explanation
from matchbandit.policies.index_policy import IndexPolicy
from matchbandit.policies.planned_policy import PlannedPolicy
from matchbandit.policies.round_policy import RoundPolicy

__all__ = [
    "CATALOGUE",
    "Capabilities",
    "ContractError",
    "CountsPolicy",
    "Decision",
    "Explanation",
    "IndexPolicy",
    "PlannedPolicy",
    "Policy",
    "PolicySpec",
    "RoundPolicy",
    "Setting",
    "check_policy",
    "counts_policy",
    "policy",
    "restore",
]
