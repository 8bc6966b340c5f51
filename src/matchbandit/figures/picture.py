"""Charts as pictures, in a notebook or as files; matplotlib is imported when something is drawn."""

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matchbandit.errors import MatchbanditError
from matchbandit.extras import need
from matchbandit.figures.chart import Chart

if TYPE_CHECKING:
    from matchbandit.figures.matplotlib_renderer import Picture

SUFFIXES = (".png", ".pdf", ".svg")


def draw(chart: Chart) -> "Picture":
    """Draw a chart as a matplotlib figure, which notebooks show."""
    picture: Picture = _renderer().render(chart)
    return picture


def draw_to(chart: Chart, path: str | os.PathLike[str]) -> Path:
    """Draw a chart into a .png, .pdf or .svg file. The same chart gives the same bytes.

    The file appears whole or not at all, in a folder that exists.
    """
    file = picture_file(path)
    renderer = _renderer()
    write_whole(file, renderer.encoded(renderer.render(chart), file.suffix[1:].lower()))
    return file


def picture_file(path: str | os.PathLike[str]) -> Path:
    """Return the file to draw into; raise an error if its suffix is unknown or its folder does not exist."""
    file = Path(path)
    if file.suffix.lower() not in SUFFIXES:
        raise MatchbanditError(f"a picture is written as .png, .pdf or .svg; got {os.fspath(path)!r}.")
    if not file.parent.is_dir():
        raise MatchbanditError(f"there is no folder {str(file.parent)!r} to write into. Make it, or choose another.")
    return file


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that appears whole or not at all."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        unfinished.write_bytes(data)
        unfinished.replace(path)
    except OSError as error:
        raise MatchbanditError(f"cannot write {str(path)!r}: {error.strerror or error}. Choose another file.") from None
    finally:
        unfinished.unlink(missing_ok=True)


def _renderer() -> Any:
    need("matplotlib", "drawing")
    return import_module("matchbandit.figures.matplotlib_renderer")
