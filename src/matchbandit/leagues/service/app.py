"""The app: the API below `/v1`, health, metrics, the API's documentation and the dashboard; and the server for it."""

import contextlib
import gc
import logging
import math
import shlex
import signal
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator
from importlib.metadata import version

import anyio
import uvicorn
from anyio import CapacityLimiter, Lock, to_thread
from fastapi import FastAPI, Request
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from matchbandit.leagues import LeagueError, Store, tokens
from matchbandit.leagues.service import api, dashboard, documentation
from matchbandit.leagues.service.access import Gate, requires
from matchbandit.leagues.service.observing import HEALTH, LOGGER, Metrics, ObserveMiddleware, log, log_to_stderr
from matchbandit.leagues.service.problems import add_handlers
from matchbandit.leagues.service.settings import Settings
from matchbandit.leagues.transaction import seconds_between

_SWITCH_SECONDS = 0.001
"""Between two threads; requests are shorter than the 5 ms that Python chooses."""
_READY_SECONDS = 1.0
"""How long the answer of a probe holds for others, so that many of them cost one transaction."""
_PROBE_SECONDS = 5.0
"""How long a probe waits for the store."""
_WARM_UP_DELAY = 0.5
"""Before the code of decisions is loaded: the first requests are not to wait for it."""


def create_app(store: Store, settings: Settings | None = None) -> FastAPI:
    """The service for a store, which the caller closes."""
    settings = settings or Settings()
    app = FastAPI(
        title="matchbandit",
        version=version("matchbandit"),
        summary="Whom to pair today, what came back, and why.",
        description=documentation.INTRODUCTION,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
        lifespan=_lifespan,
    )
    app.state.store, app.state.settings = store, settings
    app.state.gate, app.state.metrics = Gate(store, settings), Metrics()
    for router in api.ROUTERS:
        app.include_router(router)
    documentation.describe(app)
    documentation.add_pages(app)
    if settings.dashboard:
        app.include_router(dashboard.router)
        app.mount("/static", dashboard.STATIC)
    add_handlers(app, dashboard.show_problem)
    app.add_middleware(
        ObserveMiddleware, metrics=app.state.metrics, max_requests=settings.requests, https=settings.https
    )
    _add_health(app, store)
    return app


def _add_health(app: FastAPI, store: Store) -> None:
    """Routes for probes and Prometheus."""
    lock, threads, ready_until = Lock(), CapacityLimiter(1), 0.0

    async def check_store() -> None:
        """Raise unless the store can be written; many probes share an answer, and a thread of their own."""
        nonlocal ready_until
        async with lock:
            if ready_until < time.monotonic():
                with anyio.move_on_after(_PROBE_SECONDS) as scope:
                    await to_thread.run_sync(store.ready, limiter=threads, abandon_on_cancel=True)
                if scope.cancelled_caught:
                    raise LeagueError("store-busy", f"the store did not answer within {_PROBE_SECONDS:g} s.")
                ready_until = time.monotonic() + _READY_SECONDS

    @app.get(HEALTH, include_in_schema=False)
    async def healthz() -> Response:
        """Answers as long as the process does; it asks nobody."""
        return Response("ok")

    @app.get("/readyz", include_in_schema=False)
    async def readyz() -> Response:
        """Can the store be written?"""
        await check_store()
        return Response("ok")

    needed = requires("read", in_league=False, in_outage=True)

    @app.get("/metrics", include_in_schema=False, dependencies=[needed])
    async def metrics(request: Request) -> Response:
        """Metrics are about all leagues, and so must be the token; with the store away they say so."""
        if request.state.access.token.leagues is not None:
            raise LeagueError("not-allowed", "the metrics are about all leagues, and the token is for some only.")
        metrics = request.app.state.metrics
        try:
            await check_store()
            info = await to_thread.run_sync(store.info, limiter=threads)
            metrics.open.set(info.open_proposals)
            metrics.size.set(info.size_bytes)
            age = 0.0 if info.oldest_open is None else seconds_between(info.oldest_open, store.now())
            metrics.oldest.set(age)
            metrics.store_up.set(1)
        except LeagueError:
            for gauge in (metrics.open, metrics.oldest, metrics.size):
                gauge.set(math.nan)
            metrics.store_up.set(0)
        return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)


@contextlib.asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Check for passed deadlines now and then, and load code, while the server runs."""
    stop, state = threading.Event(), app.state

    def maintain() -> None:
        while not stop.wait(state.settings.maintenance_seconds):
            result = "done"
            try:
                state.store.run_maintenance()
            except Exception:
                result = "failed"
                LOGGER.exception("maintenance failed")
            state.metrics.maintenance.labels(result).inc()

    def load() -> None:
        began = time.perf_counter()
        if stop.wait(_WARM_UP_DELAY):
            return
        try:
            app.openapi()
            state.store.warm_up()
        except Exception:
            LOGGER.exception("warm-up failed")
        else:
            log("warm", seconds=round(time.perf_counter() - began, 1))
        gc.collect()
        gc.set_threshold(50_000, 20, 100)
        gc.freeze()  # a full collection of all that was imported would stop requests for 100 ms

    threads = [threading.Thread(target=maintain, daemon=True)]
    if state.settings.warm_up:
        threads.append(threading.Thread(target=load, daemon=True))
    for thread in threads:
        thread.start()
    yield
    stop.set()
    threads[0].join()


def serve(settings: Settings) -> None:
    """Run the server until it is told to stop."""
    log_to_stderr()
    sys.setswitchinterval(_SWITCH_SECONDS)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit())  # while starting; and uvicorn sends it again once it has stopped
    with (
        Store(settings.store, decision_timeout=settings.decision_seconds) as store,
        _listen(settings.host, settings.port) as listener,
    ):
        _say_how_to_begin(store, settings)
        config = uvicorn.Config(
            create_app(store, settings),
            access_log=False,
            log_config=None,
            server_header=False,
            limit_concurrency=settings.connections,
            timeout_graceful_shutdown=20,
            forwarded_allow_ips=settings.trusted_proxies,
        )
        host, port = listener.getsockname()[:2]
        if host not in ("127.0.0.1", "::1") and not settings.https:
            hint = "tokens cross the network unencrypted: put a proxy with TLS in front, and set --https"
            log("public without https", level=logging.WARNING, host=host, hint=hint)
        log("listening", address=f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")
        try:
            uvicorn.Server(config).run(sockets=[listener])
        finally:
            log("stopped")


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise LeagueError("bad-value", f"cannot listen on {host}:{port}: {error.strerror or error}.") from None


def _say_how_to_begin(store: Store, settings: Settings) -> None:
    """Without a token nobody can use the server: log the command that makes the first one."""
    if any(token.is_valid(store.now()) for token in tokens.list_all(store)):
        return
    url = settings.store
    shown = shlex.quote(url) if store.database.display_url.endswith(url.partition("://")[2]) else '"$MATCHBANDIT_STORE"'
    command = f"matchbandit token new --label first --scope admin --store {shown}"
    log("there is no token yet", level=logging.WARNING, command=command)
