"""Which random stream is whose: one root seed, a stream of its own for every name."""

from hashlib import blake2b

import numpy as np

from matchbandit.errors import check_int


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """The random stream that belongs to these names under this seed.

    Streams of different names are independent, so adding a policy or a worker moves no other curve.

    >>> first, again = stream(0, "rewards", 3), stream(0, "rewards", 3)
    >>> bool(first.random() == again.random() != stream(0, "rewards", 4).random())
    True
    """
    root = check_int("seed", seed, minimum=0)
    words = [name if isinstance(name, str) else int(name) for name in names]
    digest = blake2b(repr((root, *words)).encode(), digest_size=16).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest, "big")))
