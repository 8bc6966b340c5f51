"""What several areas name: rewards, and errors."""

from typing import Any

import matchbandit as mb
from matchbandit.errors import MatchbanditError

REWARDS = {"bernoulli": mb.Bernoulli, "gaussian": mb.Gaussian, "binomial": mb.Binomial}


def reward_distribution(kind: str, **parameters: Any) -> Any:
    """The distribution of rewards of this kind, such as "gaussian" with a parameter `sd`."""
    return REWARDS[kind](**parameters)


def error_name(call: Any, *args: Any, **options: Any) -> str | None:
    """The public class of the error that the call raises, or None."""
    try:
        call(*args, **options)
    except MatchbanditError:
        return "MatchbanditError"
    except (ValueError, TypeError) as error:
        return type(error).__name__
    return None
