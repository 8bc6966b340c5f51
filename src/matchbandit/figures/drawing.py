"""One frame for all pictures."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matchbandit.errors import MatchbanditError
from matchbandit.extras import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw(name: str, drawing: Callable[["Axes"], None], folder: Path, *, beside: bool = False) -> Path:
    """Draw one figure as PNG and PDF, the legend of labelled lines inside or beside, and give the path of the PNG."""
    size = (9.2 if beside else 6.4, 4.2)
    figure = need("matplotlib.figure", "drawing").Figure(figsize=size, dpi=160, layout="constrained")
    axes = figure.add_subplot()
    drawing(axes)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", linewidth=0.4, alpha=0.5)
    place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)} if beside else {}
    labels = len(axes.get_legend_handles_labels()[0])
    if labels:
        axes.legend(frameon=False, fontsize=8 if beside or labels < 8 else 6, **place)
    path = folder / f"{name}.png"
    try:
        figure.savefig(path)
        figure.savefig(path.with_name(f"{name}.pdf"), metadata={"CreationDate": None})
    except OSError as error:
        raise MatchbanditError(f"cannot write {str(path)!r}: {error.strerror or error}.") from None
    return path
