"""All that the contract calls of the product, a module for each area: it translates names, and does no arithmetic."""

import os
from importlib import import_module
from typing import Any

PACKAGE = os.environ.get("CONTRACT_ADAPTER", __name__)
"""Another adapter holds another implementation against the same records."""


def result_of(area: str, kind: str, case: dict[str, Any]) -> Any:
    """What the product does in this case, as plain data; only the area's own part of the product is imported."""
    return import_module(f"{PACKAGE}.{area}").KINDS[kind](**case)


def options_of(policy: str) -> list[str]:
    """The names of the options that a policy has."""
    names: list[str] = import_module(f"{PACKAGE}.core").options_of(policy)
    return names
