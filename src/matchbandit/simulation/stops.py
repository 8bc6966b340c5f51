"""When a run ends before its horizon."""

from collections.abc import Callable
from typing import Literal

from matchbandit.errors import MatchbanditError, unknown
from matchbandit.policies import Policy

Stop = Literal["first-split"]
Until = Callable[[Policy], bool]


def done(policy: Policy) -> bool:
    """Identification is finished."""
    return policy.done


def first_split(policy: Policy) -> bool:
    """A cluster has split."""
    return bool(policy.splits)


_STOPS: dict[str, Until] = {"first-split": first_split}


def stopping(stop: Stop | None, policy: Policy) -> Until:
    """The condition that a stop names, if it makes sense for the policy."""
    if stop is None:
        return done
    if stop not in [*_STOPS]:  # a list, for what was given may not be hashable
        raise unknown("stop", stop, _STOPS)
    if not policy.capabilities.clusters:
        raise MatchbanditError(
            f"{policy.name} has no clusters that split; stop={stop!r} is for adaptive-matching and its kin."
        )
    return _STOPS[stop]
