"""What is proved of a policy on a problem: the one check behind warnings, captions and hollow markers."""

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from matchbandit.policies import CATALOGUE
from matchbandit.policies.capabilities import Capabilities, Goal
from matchbandit.problems.means import is_product


def is_proved(policy: str, goal: Goal, problem: Mapping[str, Any] | None = None) -> bool:
    """Whether a policy has a proof for this goal, and for this problem if one is given.

    Parameters
    ----------
    policy : str
        A name of the catalogue, or `module:Class` of a user-defined policy. The class is not imported for this: without
        its declaration a policy counts as unproved.
    goal : {"regret", "identification"}
    problem : mapping, optional
        As its `describe()` gives it.
    """
    capabilities = _capabilities(policy)
    if capabilities is None or goal not in capabilities.proved:
        return False
    return problem is None or not breaks_assumption(policy, problem)


def breaks_assumption(policy: str, problem: Mapping[str, Any]) -> bool:
    """Whether the policy assumes means that are products of strengths, and this problem has others."""
    capabilities = _capabilities(policy)
    if capabilities is None or not capabilities.assumes_product or "matrix" not in problem:
        return False
    return not is_product(problem["matrix"], players=problem["players"])


def _capabilities(policy: str) -> Capabilities | None:
    module, _, name = policy.partition(":")
    kind = CATALOGUE.get(policy) or getattr(sys.modules.get(module), name or "-", None)
    capabilities = getattr(kind, "capabilities", None)
    return capabilities if isinstance(capabilities, Capabilities) else None


def unmet_assumption(played: Iterable[tuple[str, Mapping[str, Any]]]) -> str:
    """Say which of these policies, each with its problem, break their assumption there; empty if none does."""
    names = dict.fromkeys(policy for policy, problem in played if breaks_assumption(policy, problem))
    if not names:
        return ""
    assume = "assumes" if len(names) == 1 else "assume"
    return f"the means of this problem are not products of strengths, as {', '.join(names)} {assume}"
