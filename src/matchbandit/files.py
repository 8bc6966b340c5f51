"""Write files that appear whole or not at all."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from matchbandit.errors import MatchbanditError


def writable_file(path: str | os.PathLike[str]) -> Path:
    """Return the file to write, with links followed; raise an error if it cannot be written, before any work."""
    name, hint = os.fspath(path), "Choose another place."
    if not name:
        raise MatchbanditError("a file to write needs a name; got ''.")
    try:
        name.encode()  # Arrow takes file names in UTF-8 only
        target = Path(path).resolve()
        with suppress(FileNotFoundError, NotADirectoryError):
            target.lstat()
    except (OSError, ValueError) as error:
        raise MatchbanditError(f"{name!r} cannot be written: {getattr(error, 'strerror', None) or error}.") from None
    if target.exists() and not target.is_file():
        raise MatchbanditError(f"{name!r} is not a file that can be replaced. {hint}")
    if not target.parent.is_dir():
        raise MatchbanditError(f"there is no folder {str(target.parent)!r} to write into. Make it, or choose another.")
    if not os.access(target.parent, os.W_OK):
        raise MatchbanditError(f"the folder {str(target.parent)!r} may not be written into by you. {hint}")
    return target


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file, whole or not at all, so that it survives a crash of the machine."""
    write_together({path: data})


def write_together(files: Mapping[Path, bytes]) -> None:
    """Write files as `write_atomically` does; none is replaced before all are on the disk, then each in turn."""
    unfinished = {path: path.with_name(f".{path.name}.{os.getpid()}.tmp") for path in files}
    at_work = next(iter(files))
    try:
        for path, data in files.items():
            at_work = path
            with open(unfinished[path], "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        for path in files:
            at_work = path
            unfinished[path].replace(path)
            _sync_folder(path.parent)
    except OSError as error:
        raise MatchbanditError(f"cannot write {os.fspath(at_work)!r}: {error.strerror or error}.") from None
    finally:
        for left in unfinished.values():
            with suppress(OSError):
                left.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Make a new file name durable; not all systems can open a folder."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
