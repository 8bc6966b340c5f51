"""Files that only their owner may read, since they contain names or token hashes."""

import os
from contextlib import suppress
from pathlib import Path


def create_private(path: Path) -> None:
    """Create an empty file with mode 0600, to be opened for writing next.

    An existing file keeps its mode. File system errors are left to the caller that opens the file.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
