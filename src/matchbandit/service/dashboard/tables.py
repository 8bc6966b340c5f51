"""Every table of the dashboard as CSV or JSON, for whoever is logged in."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, is_dataclass
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from matchbandit.live.csv_tables import csv_text
from matchbandit.live.league_view import LeagueView
from matchbandit.live.records import PairResult
from matchbandit.service.dashboard import content
from matchbandit.service.dashboard.guard import Guard, Visitor
from matchbandit.service.problems import ApiError
from matchbandit.service.sessions import Session

Format = Literal["csv", "json"]
MAX_ROWS = 10_000
"""Rows of a table that grows with time; a Link header leads to the rows before them."""


def add_tables(routes: APIRouter, guard: Guard) -> None:
    """The addresses of all tables, to be added before those of pages, which would take a dot for a part of a name."""
    Looking = Annotated[Visitor, Depends(guard.visitor("read"))]
    LoggedIn = Annotated[Session, Depends(guard.logged_in)]
    Search = Annotated[str, Query(max_length=100)]
    Before = Annotated[int | None, Query(ge=1, le=2**62)]

    @routes.get("/leagues.{format}")
    def leagues(session: LoggedIn, format: Format, search: Search = "", archived: bool = False) -> Response:
        rows = guard.store.summaries(names=session.token.leagues, search=search, archived=archived)
        return table(rows, "leagues", format)

    @routes.get("/leagues/{slug}/proposals/{number}.{format}")
    def proposal(visitor: Looking, number: int, format: Format) -> Response:
        with visitor.league.view() as view:
            proposal = content.proposal_view(view, view.record(number))
        return table(proposal.pairs, f"{visitor.slug}-proposal-{number}", format)

    @routes.get("/leagues/{slug}/items/{number}.{format}")
    def partners(visitor: Looking, number: int, format: Format) -> Response:
        with visitor.league.view(model=True) as view:
            rows = content.partners(view.partners(content.item(view, number).id), number)
        return table(rows, f"{visitor.slug}-item-{number}", format)

    @routes.get("/leagues/{slug}/{name}.{format}")
    def of_league(
        request: Request, visitor: Looking, name: str, format: Format, search: Search = "", before: Before = None
    ) -> Response:
        rows, older = _rows(visitor, name, search, before)
        response = table(rows, f"{visitor.slug}-{name}", format)
        if older is not None:
            response.headers["Link"] = f'<{request.url.path}?{urlencode({"before": older})}>; rel="next"'
        return response


_IN_MEMORY: dict[str, Callable[[LeagueView, str], Sequence[Any]]] = {
    "items": lambda view, search: view.items(search=search),
    "ranking": lambda view, search: content.matching(view.ranking(), search, "name"),
    "results": lambda view, search: [_result(row) for row in content.matching(view.results(), search, "names")],
    "rules": lambda view, _: [{key: row[key] for key in ("rule", "ids", "names")} for row in content.rule_rows(view)],
    "fit": lambda view, _: content.fit(view).worst,
}
"""Tables that need nothing from the database."""


def _rows(visitor: Visitor, name: str, search: str, before: int | None) -> tuple[Sequence[Any], int | None]:
    """The rows of a table and, if there are more, the number before which they go on."""
    if name == "shadow":
        return [visitor.league.shadow_report()], None
    labels = content.token_labels(visitor.league.store) if name == "log" else {}
    with visitor.league.view(model=True) as view:
        if name == "proposals":
            history = view.history(before=before, limit=MAX_ROWS, newest_first=True)
            return history, history[-1].number if len(history) == MAX_ROWS and history[-1].number > 1 else None
        if name == "log":
            end = min(before or view.seq + 1, view.seq + 1)
            first = max(end - 1 - MAX_ROWS, 0)
            lines = content.log_lines(view, labels, after=first, limit=end - 1 - first)
            return lines[::-1], first + 1 if first else None
    if name not in _IN_MEMORY:
        raise ApiError("not-found", "there is no such table.")
    return _IN_MEMORY[name](view, search), None


def _result(row: PairResult) -> dict[str, Any]:
    return {"ids": row.ids, "names": row.names, "count": row.count, "total": row.total, "mean": row.mean}


def table(rows: Sequence[Any], name: str, format: Format) -> Response:
    """Rows as a file to be saved."""
    if format == "csv":
        text, kind = csv_text(rows), "text/csv; charset=utf-8"
    else:
        plain = [asdict(row) if is_dataclass(row) and not isinstance(row, type) else row for row in rows]
        text, kind = json.dumps(plain, ensure_ascii=False, allow_nan=False), "application/json"
    return Response(text, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}.{format}"'})
