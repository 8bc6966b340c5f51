"""The only module of the contract that calls the product: it translates names, and does no arithmetic."""

from typing import Any

from contract import adapter_core, adapter_data, adapter_decisions, adapter_leagues, adapter_studies, adapter_theory

KINDS: dict[str, Any] = {
    **adapter_core.KINDS,
    **adapter_theory.KINDS,
    **adapter_studies.KINDS,
    **adapter_decisions.KINDS,
    **adapter_data.KINDS,
    **adapter_leagues.KINDS,
}
"""What each kind of case calls."""


def result_of(kind: str, case: dict[str, Any]) -> Any:
    """What the product does in this case, as plain data."""
    return KINDS[kind](**case)
