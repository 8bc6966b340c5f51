"""Results from before: who can begin with them."""

from matchbandit.errors import MatchbanditError


def cannot_start_warm(name: str) -> MatchbanditError:
    """The error for results from before, given to a policy that cannot use them."""
    return MatchbanditError(
        f"{name} plays by a schedule of its own and cannot use results that others have sampled. rank1-thompson, "
        f"rank1-certify and rank1-identify can; `matchbandit policies` lists them all."
    )
