"""One frame for all pictures."""

from collections.abc import Callable
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure


def draw(name: str, drawing: Callable[[Axes], None], folder: Path) -> Path:
    """Draw one figure as PNG and PDF, and give the path of the PNG."""
    figure = Figure(figsize=(6.4, 4.2), dpi=160, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    drawing(axes)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", linewidth=0.4, alpha=0.5)
    axes.legend(frameon=False, fontsize=8 if len(axes.get_legend_handles_labels()[0]) < 8 else 6)
    path = folder / f"{name}.png"
    figure.savefig(path)
    figure.savefig(folder / f"{name}.pdf", metadata={"CreationDate": None})
    return path
