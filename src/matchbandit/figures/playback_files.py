"""Write a playback to files: a picture, and a page that plays it back. matplotlib is imported when it is needed."""

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matchbandit.errors import MatchbanditError
from matchbandit.extras import need
from matchbandit.figures.panels import Playback
from matchbandit.figures.picture import write_whole
from matchbandit.figures.playback_page import playback_page

if TYPE_CHECKING:
    from matchbandit.figures.matplotlib_renderer import Picture

SUFFIXES = (".svg", ".png", ".html")


def draw_playback(playback: Playback) -> "Picture":
    """Return the picture: a matplotlib figure, which notebooks display."""
    picture: Picture = _import("playback_picture").render_picture(playback)
    return picture


def playback_paths(path: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Return the files that are written for this path, with or without one of their suffixes; the folder must exist."""
    base = Path(path)
    if base.suffix.lower() in SUFFIXES:
        base = base.with_suffix("")
    if not base.name or "\0" in base.name:
        raise MatchbanditError(
            f"{os.fspath(path)!r} is not a file name. Use a NAME for NAME.svg, NAME.png and NAME.html."
        )
    if not base.parent.is_dir():
        raise MatchbanditError(f"there is no folder {str(base.parent)!r} to write into. Make it, or choose another.")
    return tuple(base.with_name(base.name + suffix) for suffix in SUFFIXES)


def write_playback(playback: Playback, path: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Write the picture (.svg and .png) and the page (.html), each completely or not at all; return their paths."""
    paths = playback_paths(path)
    picture = draw_playback(playback)
    encoded = _import("matplotlib_renderer").encoded
    for file, suffix in zip(paths, SUFFIXES, strict=True):
        write_whole(file, playback_page(playback).encode() if suffix == ".html" else encoded(picture, suffix[1:]))
    return paths


def _import(name: str) -> Any:
    need("matplotlib", "drawing")
    return import_module(f"matchbandit.figures.{name}")
