"""Films as files: a picture, and a page that moves. matplotlib is imported when something is drawn."""

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matchbandit.errors import MatchbanditError
from matchbandit.extras import need
from matchbandit.figures.film import Film
from matchbandit.figures.picture import write_whole
from matchbandit.figures.watch_page import film_page

if TYPE_CHECKING:
    from matchbandit.figures.matplotlib_renderer import Picture

ENDINGS = (".svg", ".png", ".html")


def draw_film(film: Film) -> "Picture":
    """Draw a film: a matplotlib figure, which notebooks show."""
    picture: Picture = _room("film_painting").paint_film(film)
    return picture


def film_places(path: str | os.PathLike[str]) -> tuple[Path, ...]:
    """The files that a film is written to, whatever ending of ours was given; their folder must exist."""
    place = Path(path)
    if place.suffix.lower() in ENDINGS:
        place = place.with_suffix("")
    if not place.name or "\0" in place.name:
        raise MatchbanditError(f"{os.fspath(path)!r} names no file; a film is written to NAME.svg, .png and .html.")
    if not place.parent.is_dir():
        raise MatchbanditError(f"there is no folder {str(place.parent)!r} to write into. Make it, or choose another.")
    return tuple(place.with_name(place.name + ending) for ending in ENDINGS)


def write_film(film: Film, path: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Write a film's picture (.svg and .png) and its page (.html), each whole or not at all; gives their paths."""
    places = film_places(path)
    picture = draw_film(film)
    encoded = _room("matplotlib_renderer").encoded
    for place, ending in zip(places, ENDINGS, strict=True):
        write_whole(place, film_page(film).encode() if ending == ".html" else encoded(picture, ending[1:]))
    return places


def _room(name: str) -> Any:
    need("matplotlib", "drawing")
    return import_module(f"matchbandit.figures.{name}")
