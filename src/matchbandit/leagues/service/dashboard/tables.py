"""Every table of the pages as a file, CSV or JSON, with all of its rows."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import msgspec
from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from matchbandit.leagues import LeagueError
from matchbandit.leagues.csv_tables import csv_text
from matchbandit.leagues.records import Page
from matchbandit.leagues.service.access import MeasuredRoute
from matchbandit.leagues.service.dashboard.frame import Visitor
from matchbandit.leagues.service.dashboard.pages import After, Text

ROWS = 1_000
"""Rows that are read and sent at a time."""
Format = Literal["csv", "json"]
router = APIRouter(route_class=MeasuredRoute)


@router.get("/tables/leagues.{format}")
def leagues_table(visitor: Visitor, format: Format, search: Text = "", status: Text = "active") -> StreamingResponse:
    """The leagues that the token opens."""
    slugs = visitor.token.leagues
    return _file("leagues", format, _pages(visitor.store.leagues, "", slugs=slugs, search=search, status=status))


@router.get("/leagues/{slug}/tables/{name}.{format}")
def league_table(
    visitor: Visitor, name: str, format: Format, proposal: After = 0, id: After = 0, since: Text = "", until: Text = ""
) -> StreamingResponse:
    """A table of a league."""
    league = visitor.league
    tables: dict[str, Callable[[], Iterator[Sequence[Any]]]] = {
        "items": lambda: _pages(league.items, 0),
        "ranking": lambda: _pages(league.ranking, 0),
        "results": lambda: _pages(league.results, "", item=f"#{id}" if id else None),
        "rules": lambda: _pages(league.rules, ""),
        "proposals": lambda: _pages(league.summaries, None, newest_first=True),
        "pairs": lambda: iter([league.proposal(proposal).pairs]),
        "progress": lambda: iter([league.progress()]),
        "deviations": lambda: iter([[{"names": names, "deviation": each} for names, each in league.fit().worst]]),
        "history": lambda: _pages(league.history, None, newest_first=True, since=since or None, until=until or None),
    }
    if name not in tables:
        raise LeagueError("not-found", f"there is no table {name[:40]!r}; there are {', '.join(tables)}.")
    return _file(f"{visitor.slug}-{name}", format, tables[name]())


def _pages(read: Callable[..., Page[Any]], after: Any, **query: Any) -> Iterator[Sequence[Any]]:
    """The rows of a list, page by page."""
    while True:
        page = read(after=after, limit=ROWS, **query)
        yield page.rows
        after = page.next
        if after is None:
            return


def _file(name: str, format: Format, parts: Iterator[Sequence[Any]]) -> StreamingResponse:
    """Rows as a file; the first of them are read now, so that an error is one."""
    first = next(parts)

    def content() -> Iterator[str | bytes]:
        yield csv_text(first) if format == "csv" else b"[" + msgspec.json.encode(first)[1:-1]
        for rows in parts:  # without the heads, which the first part has
            yield csv_text(rows).partition("\n")[2] if format == "csv" else b"," + msgspec.json.encode(rows)[1:-1]
        yield "" if format == "csv" else "]"

    kind = "text/csv; charset=utf-8" if format == "csv" else "application/json"
    headers = {"Content-Disposition": f'attachment; filename="{name}.{format}"', "Cache-Control": "no-store"}
    return StreamingResponse(content(), 200, headers, kind)
