"""Cases of the contract: studies."""

from collections.abc import Iterator

from contract.records import Case


def cases() -> Iterator[Case]:
    """All of them."""
    yield from ()
