"""Middleware for every request: id, access log, metrics, security headers, and an answer even after a defect."""

import logging
from time import perf_counter
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from matchbandit.service.logs import CONTEXT, RequestContext, log, request_id
from matchbandit.service.metrics import Metrics
from matchbandit.service.problems import Problem
from matchbandit.service.settings import Settings

SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
}
"""Default headers of every response."""
HSTS = "max-age=31536000"
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}


class AccessLog:
    """The outermost middleware of the app."""

    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics) -> None:
        """Wrap an app."""
        self._app, self._settings, self._metrics = app, settings, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request and log it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        context = scope[CONTEXT] = RequestContext(request_id(Headers(scope=scope).get("x-request-id")))
        started = perf_counter()
        status = 0

        async def with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                self._add_headers(MutableHeaders(raw=message["headers"]), context, scope)
            await send(message)

        self._metrics.in_flight.inc()
        try:
            await self._app(scope, receive, with_headers)
        except Exception as error:
            log("defect", {"request_id": context.request_id}, level=logging.ERROR, error=error)
            if status != 0:  # the response has started: the client must see that it is incomplete
                raise InterruptedResponseError from None
            detail = f"the service has a defect. Its log says more under {context.request_id}."
            await Problem("internal", detail)(scope, receive, with_headers)
        finally:
            self._metrics.in_flight.dec()
            self._record(scope, context, status, perf_counter() - started)

    def _add_headers(self, headers: MutableHeaders, context: RequestContext, scope: Scope) -> None:
        headers["X-Request-ID"] = context.request_id
        for name, value in SECURITY_HEADERS.items():
            headers.setdefault(name, value)
        if self._settings.https or scope["scheme"] == "https":
            headers.setdefault("Strict-Transport-Security", HSTS)

    def _record(self, scope: Scope, context: RequestContext, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "other"
        route = str(getattr(scope.get("route"), "path", "other"))  # the pattern: a path may contain anything
        self._metrics.requests.labels(method, route, status).inc()
        self._metrics.seconds.labels(method, route).observe(seconds)
        if context.code is not None:
            self._metrics.refused.labels(context.code).inc()
        content: dict[str, Any] = {"request_id": context.request_id, "method": method, "route": route, "status": status}
        content |= {"ms": round(1000 * seconds, 1)}
        content |= {"token": context.token.id} if context.token is not None else {}
        content |= {"league": context.league} if context.league is not None else {}
        content |= {"code": context.code} if context.code is not None else {}
        log("request", content)


class InterruptedResponseError(RuntimeError):
    """A response was interrupted by a defect, which is in the log."""
