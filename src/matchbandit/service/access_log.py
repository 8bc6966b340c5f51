"""What every request gets: an id, a line in the log, a place in the metrics, safe headers, an answer in any case."""

import logging
from time import perf_counter
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from matchbandit.service.logs import CONTEXT, RequestContext, log, request_id
from matchbandit.service.metrics import Metrics
from matchbandit.service.problems import Problem
from matchbandit.service.settings import Settings

SAFE = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
}
"""Headers of every answer that does not bring its own."""
STAY_WITH_HTTPS = "max-age=31536000"
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}


class AccessLog:
    """The outermost wall of the app."""

    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics) -> None:
        """Around an app."""
        self._app, self._settings, self._metrics = app, settings, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, and write down that it was answered."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        context = scope[CONTEXT] = RequestContext(request_id(Headers(scope=scope).get("x-request-id")))
        began = perf_counter()
        status = 0

        async def with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                self._complete(MutableHeaders(raw=message["headers"]), context, scope)
            await send(message)

        self._metrics.in_flight.inc()
        try:
            await self._app(scope, receive, with_headers)
        except Exception as error:
            log("defect", {"request_id": context.request_id}, level=logging.ERROR, error=error)
            if status != 0:  # the answer has begun: the client must see that it is cut off
                raise BrokenOffError from None
            words = f"the service has a defect. Its log says more under {context.request_id}."
            await Problem("internal", words)(scope, receive, with_headers)
        finally:
            self._metrics.in_flight.dec()
            self._write_down(scope, context, status, perf_counter() - began)

    def _complete(self, headers: MutableHeaders, context: RequestContext, scope: Scope) -> None:
        headers["X-Request-ID"] = context.request_id
        for name, value in SAFE.items():
            headers.setdefault(name, value)
        if self._settings.https or scope["scheme"] == "https":
            headers.setdefault("Strict-Transport-Security", STAY_WITH_HTTPS)

    def _write_down(self, scope: Scope, context: RequestContext, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "other"
        route = str(getattr(scope.get("route"), "path", "other"))  # the pattern: a path may hold anything
        self._metrics.requests.labels(method, route, status).inc()
        self._metrics.seconds.labels(method, route).observe(seconds)
        if context.code is not None:
            self._metrics.refused.labels(context.code).inc()
        told: dict[str, Any] = {"request_id": context.request_id, "method": method, "route": route, "status": status}
        told |= {"ms": round(1000 * seconds, 1)}
        told |= {"token": context.token.id} if context.token is not None else {}
        told |= {"league": context.league} if context.league is not None else {}
        told |= {"code": context.code} if context.code is not None else {}
        log("request", told)


class BrokenOffError(RuntimeError):
    """An answer that broke off; what happened is in the log."""
