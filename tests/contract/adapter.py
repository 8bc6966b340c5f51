"""The only module of the contract that calls the product: it translates names, and does no arithmetic."""

from typing import Any

from contract import adapter_leagues

KINDS: dict[str, Any] = {}
"""What each kind of case calls."""
KINDS |= adapter_leagues.KINDS


def result_of(kind: str, case: dict[str, Any]) -> Any:
    """What the product does in this case, as plain data."""
    return KINDS[kind](**case)
