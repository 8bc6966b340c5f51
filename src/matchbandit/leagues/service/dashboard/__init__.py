"""Pages for people: leagues, proposals, outcomes, explanations and settings, drawn by the server.

Pages work without scripts. A cookie that is SameSite=Lax and a check of where a form was sent from replace CSRF tokens;
each form carries an idempotency key, so that two clicks are one request.
"""

from matchbandit.leagues.service.dashboard import forms, pages, tables
from matchbandit.leagues.service.dashboard.frame import COOKIE, STATIC, router, show_problem

for part in (tables, pages, forms):
    router.include_router(part.router)

__all__ = ["COOKIE", "STATIC", "router", "show_problem"]
