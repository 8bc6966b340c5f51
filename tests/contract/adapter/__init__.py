"""All that the contract calls of the product, by area: it translates names, and does no arithmetic."""

from typing import Any

from contract.adapter import core, data, decisions, leagues, studies, theory

KINDS: dict[str, Any] = {
    **core.KINDS,
    **decisions.KINDS,
    **theory.KINDS,
    **data.KINDS,
    **studies.KINDS,
    **leagues.KINDS,
}
"""What each kind of case calls."""


def result_of(kind: str, case: dict[str, Any]) -> Any:
    """What the product does in this case, as plain data."""
    return KINDS[kind](**case)
