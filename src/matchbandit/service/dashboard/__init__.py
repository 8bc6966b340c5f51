"""Pages for people, beside the API: ranking, pending outcomes, meetings, progress, roster, rules, settings, log.

Server-rendered, so that everything works without scripts; charts and the map of meetings are drawn where scripts run.
"""

from fastapi import APIRouter

from matchbandit.live.store import Store
from matchbandit.service.dashboard.actions import add_changes, add_login, add_outcomes
from matchbandit.service.dashboard.guard import Guard
from matchbandit.service.dashboard.html import PageRoute
from matchbandit.service.dashboard.pages import add_pages
from matchbandit.service.dashboard.tables import add_tables
from matchbandit.service.settings import Settings


def router(store: Store, settings: Settings) -> APIRouter:
    """All addresses of the dashboard; the OpenAPI description does not list them."""
    routes = APIRouter(route_class=PageRoute, include_in_schema=False)
    guard = Guard(store, settings)
    add_login(routes, guard)
    add_tables(routes, guard)
    add_pages(routes, guard)
    add_outcomes(routes, guard)
    add_changes(routes, guard)
    return routes
