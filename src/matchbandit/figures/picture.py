"""Charts as pictures: in a notebook, or as files. matplotlib is imported when something is drawn."""

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matchbandit.errors import MatchbanditError
from matchbandit.extras import need
from matchbandit.figures.chart import Chart

if TYPE_CHECKING:
    from matchbandit.figures.matplotlib_renderer import Picture

KINDS = (".png", ".pdf", ".svg")


def draw(chart: Chart) -> "Picture":
    """Draw a chart: a matplotlib figure, which notebooks show."""
    picture: Picture = _painting().paint(chart)
    return picture


def draw_to(chart: Chart, path: str | os.PathLike[str]) -> Path:
    """Draw a chart into a file: .png, with a .pdf beside it; .pdf; or .svg. The same chart gives the same bytes.

    Each file appears whole or not at all, in a folder that exists.
    """
    place = picture_file(path)
    painting = _painting()
    picture = painting.paint(chart)
    kinds = (".pdf", ".png") if place.suffix.lower() == ".png" else (place.suffix.lower(),)
    for kind in kinds:
        name = place if kind == place.suffix.lower() else place.with_suffix(kind)
        write_whole(name, painting.encoded(picture, kind[1:]))
    return place


def picture_file(path: str | os.PathLike[str]) -> Path:
    """The file to draw into; an error if it is no picture's name, or if there is no such folder."""
    place = Path(path)
    if place.suffix.lower() not in KINDS:
        raise MatchbanditError(f"a picture is written as .png, .pdf or .svg; got {os.fspath(path)!r}.")
    if not place.parent.is_dir():
        raise MatchbanditError(f"there is no folder {str(place.parent)!r} to write into. Make it, or choose another.")
    return place


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that appears whole or not at all."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        unfinished.write_bytes(data)
        unfinished.replace(path)
    except OSError as error:
        raise MatchbanditError(f"cannot write {str(path)!r}: {error.strerror or error}.") from None
    finally:
        unfinished.unlink(missing_ok=True)


def _painting() -> Any:
    need("matplotlib", "drawing")
    return import_module("matchbandit.figures.matplotlib_renderer")
