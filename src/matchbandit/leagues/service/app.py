"""The app: the API below `/v1`, health, metrics, the API's documentation and the dashboard."""

import logging
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from anyio import CapacityLimiter, to_thread
from fastapi import FastAPI, Request
from fastapi.responses import Response
from fastapi_offline import FastAPIOffline
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from matchbandit.leagues import Store
from matchbandit.leagues.service import api, dashboard
from matchbandit.leagues.service.access import Gate, requires
from matchbandit.leagues.service.observing import LOGGER, JsonLines, Metrics, ObserveMiddleware
from matchbandit.leagues.service.problems import add_handlers
from matchbandit.leagues.service.settings import Settings

_SWITCH_SECONDS = 0.001
"""Between two threads; requests are shorter than the 5 ms that Python chooses."""
_PROBES = CapacityLimiter(1)


def create_app(store: Store, settings: Settings | None = None) -> FastAPI:
    """The service for a store, which the caller closes."""
    settings = settings or Settings()
    app = FastAPIOffline(
        title="matchbandit", summary="Whom to pair today, what came back, and why.", lifespan=_lifespan
    )
    app.state.store, app.state.settings = store, settings
    app.state.gate, app.state.metrics = Gate(store, settings), Metrics()
    app.include_router(api.router)
    if settings.dashboard:
        app.include_router(dashboard.router)
        app.mount("/static", dashboard.STATIC)
    add_handlers(app)
    app.add_middleware(ObserveMiddleware, metrics=app.state.metrics)
    _document_bodies(app)

    @app.get("/healthz", include_in_schema=False)
    async def healthz() -> Response:
        return Response("ok")

    @app.get("/readyz", include_in_schema=False)
    async def readyz() -> Response:
        await to_thread.run_sync(store.ready, limiter=_PROBES)
        return Response("ok")

    @app.get("/metrics", include_in_schema=False, dependencies=[requires("read", in_league=False)])
    def metrics(request: Request) -> Response:
        return Response(generate_latest(request.app.state.metrics.registry), media_type=CONTENT_TYPE_LATEST)

    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Check for passed deadlines now and then, while the server runs."""
    stop = threading.Event()

    def maintain() -> None:
        while not stop.wait(app.state.settings.maintenance_seconds):
            try:
                app.state.store.run_maintenance()
            except Exception:
                LOGGER.exception("maintenance failed")

    thread = threading.Thread(target=maintain, daemon=True)
    thread.start()
    yield
    stop.set()
    thread.join()


def _document_bodies(app: FastAPI) -> None:
    """Add the schemas of the bodies, which the routes read themselves, to the API's description."""
    describe = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schemas = describe()["components"]["schemas"]
            for path in app.openapi_schema["paths"].values():
                for operation in path.values():
                    schemas.update(operation.pop("x-components", {}))
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def serve(settings: Settings) -> None:
    """Run the server until it is told to stop."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    sys.setswitchinterval(_SWITCH_SECONDS)
    with Store(settings.store) as store:
        uvicorn.run(
            create_app(store, settings),
            host=settings.host,
            port=settings.port,
            access_log=False,
            log_config=None,
            server_header=False,
            limit_concurrency=settings.connections,
            timeout_graceful_shutdown=20,
            forwarded_allow_ips=settings.trusted_proxies,
        )


if __name__ == "__main__":
    serve(Settings())
