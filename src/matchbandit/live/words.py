"""Words that sentences about a league share."""


def many(count: int, what: str) -> str:
    """A number of things.

    >>> many(1, "pair"), many(2, "pair")
    ('1 pair', '2 pairs')
    """
    return f"{count} {what}{'' if count == 1 else 's'}"
