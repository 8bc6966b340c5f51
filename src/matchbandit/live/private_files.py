"""Files with names or hashes of tokens: only their owner may read them."""

import os
from contextlib import suppress
from pathlib import Path


def create_private(path: Path) -> None:
    """Create an empty file with mode 0600, to be opened for writing next.

    A file that exists keeps its mode; an error of the file system is left to whoever opens the file.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
