"""Charts as data, the style of each policy, and their two renderers: matplotlib, and a specification in Vega-Lite.

Pages are not here: they belong to the lab.
"""

from matchbandit.figures.chart import AxisRule, Chart, Series, picture_file
from matchbandit.figures.style import Style, style_of, styles_of

__all__ = ["AxisRule", "Chart", "Series", "Style", "picture_file", "style_of", "styles_of"]
