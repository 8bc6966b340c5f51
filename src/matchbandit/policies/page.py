"""Items in positions: which side of a bipartite graph is shown, and which edge shows an item in a position."""

from typing import NamedTuple

from matchbandit.compiled import compiled
from matchbandit.graphs import Graph


class Page(NamedTuple):
    """How items and positions are numbered by edge."""

    n_items: int
    item_step: int
    position_step: int


def page_of(graph: Graph) -> Page:
    """The larger side as items, the other as positions; of equal sides, the rows are the items.

    >>> from matchbandit.graphs import bipartite
    >>> page_of(bipartite(5, 3)), page_of(bipartite(3, 5))
    (Page(n_items=5, item_step=3, position_step=1), Page(n_items=5, item_step=1, position_step=5))
    """
    n_rows, n_columns = graph.shape
    if n_rows >= n_columns:
        return Page(n_rows, item_step=n_columns, position_step=1)
    return Page(n_columns, item_step=1, position_step=n_columns)


@compiled
def edge_of(page: Page, item: int, position: int) -> int:
    """The edge that shows this item in this position."""
    return item * page.item_step + position * page.position_step
