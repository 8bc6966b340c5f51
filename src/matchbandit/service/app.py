"""The app: the API below `/v1`, health, metrics, the docs page and the dashboard, behind middleware."""

import asyncio
import contextlib
import gc
import logging
import os
import sys
import time
from collections.abc import AsyncIterator
from importlib.metadata import version
from threading import Thread

import anyio.to_thread
from anyio import CapacityLimiter
from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from matchbandit.live.compute import WorkerPool
from matchbandit.live.store import Store
from matchbandit.live.warm_up import is_loaded, load_compiled_code
from matchbandit.service import admin_api, api, dashboard, documentation, metrics
from matchbandit.service.access_log import AccessLog
from matchbandit.service.auth import AuthMiddleware
from matchbandit.service.limits import RequestLimits
from matchbandit.service.logs import CONTEXT, log
from matchbandit.service.metrics import Metrics
from matchbandit.service.problems import HANDLERS, ApiError
from matchbandit.service.settings import Settings
from matchbandit.service.store_metrics import StoreMetrics

_SWITCH_SECONDS = 0.001
"""Thread switch interval; shorter than the default of 5 ms, since requests are short."""
_RESERVED_THREADS = 4
"""Threads reserved for probes and token lookups."""


def create_app(store: Store, *, settings: Settings | None = None) -> FastAPI:
    """Create the service for a store; the caller closes the store.

    Parameters
    ----------
    store : Store
        Where the leagues and the tokens are.
    settings : Settings, optional
        Limits and times.
    """
    settings = settings or Settings()
    request_metrics = Metrics()
    store_metrics = StoreMetrics(store, request_metrics.registry)
    reserved_threads = CapacityLimiter(_RESERVED_THREADS)
    app = FastAPI(
        title="matchbandit",
        version=version("matchbandit"),
        summary="Whom to pair today, what came back, and why.",
        description=documentation.INTRODUCTION,
        openapi_url=None,  # FastAPI would encode it again for each request, on the event loop
        docs_url=None,  # FastAPI's own pages load scripts from a CDN
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,  # readable names in generated clients
        lifespan=_lifespan(store, settings, request_metrics),
    )
    app.include_router(api.router(store, request_metrics))
    app.include_router(admin_api.router(store, settings))
    app.include_router(_health_router(store, request_metrics, store_metrics, reserved_threads))
    app.state.metrics = request_metrics
    app.include_router(documentation.router(app))
    if settings.dashboard:
        app.include_router(dashboard.router(store, settings))
    for kind, handler in HANDLERS.items():
        app.add_exception_handler(kind, handler)
    # The last one added is the outermost: tokens are checked before a body is read, and everything is logged.
    app.add_middleware(RequestLimits, settings=settings)
    app.add_middleware(AuthMiddleware, store=store, settings=settings, threads=reserved_threads)
    app.add_middleware(AccessLog, settings=settings, metrics=request_metrics)
    documentation.describe(app)
    return app


def _health_router(
    store: Store, request_metrics: Metrics, store_metrics: StoreMetrics, threads: CapacityLimiter
) -> APIRouter:
    """Routes for health checks and Prometheus."""
    router = APIRouter(tags=["health"])

    @router.head("/healthz", include_in_schema=False)
    @router.get("/healthz", summary="Is the process alive?")
    async def healthz() -> dict[str, str]:
        """Answers as long as the process does; it asks nobody."""
        return {"status": "ok"}

    @router.head("/readyz", include_in_schema=False)
    @router.get("/readyz", summary="Can it answer requests?")
    async def readyz() -> dict[str, str]:
        """503 until the compiled code is loaded, while the store cannot be read, and when writes fail for 10 s."""
        if not is_loaded():
            raise ApiError("starting", "the compiled code is being loaded. Try again in a moment.")
        await anyio.to_thread.run_sync(store.ready, limiter=threads)
        return {"status": "ready"}

    @router.get(
        "/metrics",
        summary="Numbers for Prometheus",
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    def get_metrics(request: Request) -> Response:
        """Needs a token for all leagues: the numbers are of all of them together."""
        token = request.scope[CONTEXT].token
        if not token.may("read"):
            raise ApiError("not-allowed", f"the metrics are of all leagues; the token {token.id} is for some only.")
        return Response(request_metrics.text() + store_metrics.text(), media_type=metrics.MEDIA_TYPE)

    return router


def _lifespan(store: Store, settings: Settings, request_metrics: Metrics):  # type: ignore[no-untyped-def]
    @contextlib.asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = settings.threads
        sys.setswitchinterval(_SWITCH_SECONDS)
        if not is_loaded():
            Thread(target=_load, daemon=True, name="warm-up").start()
        pool = None
        if store.compute is None and hasattr(os, "fork"):  # workers inherit one end of a pipe
            pool = WorkerPool(size=settings.compute_workers, time_limit=settings.compute_seconds)
            store.compute = pool
        tick_task = asyncio.create_task(_tick(store, settings, request_metrics)) if settings.tick_seconds else None
        try:
            yield
        finally:
            if tick_task is not None:
                tick_task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await tick_task
            if pool is not None:
                store.compute = None
                pool.close()

    return lifespan


def _load() -> None:
    started = time.perf_counter()
    try:
        load_compiled_code()
        gc.collect()
        gc.freeze()  # a full collection of all imported objects would stop requests for 150 ms
    except Exception as error:
        log("warm-up failed", {}, level=logging.ERROR, error=error)
    else:
        log("ready", {"seconds": round(time.perf_counter() - started, 2)})


async def _tick(store: Store, settings: Settings, request_metrics: Metrics) -> None:
    """Check the deadlines periodically; failures are logged."""
    while True:
        await asyncio.sleep(settings.tick_seconds)
        try:
            await run_in_threadpool(store.tick)
            if store.compute is not None:
                store.compute.end_idle()
            request_metrics.ticks.labels("done").inc()
        except Exception as error:
            request_metrics.ticks.labels("failed").inc()
            log("tick failed", {"code": getattr(error, "code", None)}, level=logging.ERROR, error=error)
