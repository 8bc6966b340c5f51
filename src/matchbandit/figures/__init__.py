"""Charts as typed data, and their renderers: pictures by matplotlib, pages by Apache ECharts."""

from matchbandit.figures.chart import Chart, Line, Mark
from matchbandit.figures.picture import draw, draw_to
from matchbandit.figures.style import Style, style_of, styles_of

__all__ = ["Chart", "Line", "Mark", "Style", "draw", "draw_to", "style_of", "styles_of"]
