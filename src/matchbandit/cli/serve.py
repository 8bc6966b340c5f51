"""`matchbandit serve`: leagues over HTTP."""

import os
from typing import Annotated, Any

import typer

from matchbandit.cli.completion import DEFAULT_STORE
from matchbandit.cli.league.parameters import StoreUrl, store_url
from matchbandit.extras import need


def serve(
    store: StoreUrl = DEFAULT_STORE,
    host: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Address to listen on (127.0.0.1); a public one needs a token."),
    ] = None,
    port: Annotated[
        str | None, typer.Option(metavar="INTEGER", help="Port to listen on (8000); 0 chooses a free one.")
    ] = None,
    workers: Annotated[
        str | None, typer.Option(metavar="INTEGER", help="Number of processes (1); use 1 with SQLite.")
    ] = None,
    behind_proxy: Annotated[
        bool | None,
        typer.Option("--behind-proxy/--no-behind-proxy", help="Trust the X-Forwarded headers of a local proxy."),
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(metavar="NETWORK", help="Trust those of this address or network; may be repeated."),
    ] = None,
    body_bytes: Annotated[
        str | None, typer.Option(metavar="INTEGER", help="Largest body of a request in bytes (1048576).")
    ] = None,
    rate: Annotated[str | None, typer.Option(metavar="NUMBER", help="Requests per second of one token (1000).")] = None,
    dashboard: Annotated[
        bool | None, typer.Option("--dashboard/--no-dashboard", help="Serve the dashboard, or only the API.")
    ] = None,
) -> None:
    """Serve leagues over HTTP: a JSON API and a dashboard.

    The log is JSON on stderr, one line per request. TERM and Ctrl-C stop the server after it has answered the requests
    in progress. Every setting also has an environment variable, such as MATCHBANDIT_SERVE_PORT.
    """  # fmt: skip
    for module in ("sqlalchemy", "fastapi", "uvicorn", "httptools", "prometheus_client", "jinja2"):
        need(module, "the service")
    from matchbandit.service.server import Server
    from matchbandit.service.settings import Settings, read_values

    values: dict[str, Any] = {
        "store": store_url(store),
        "host": host,
        "port": port,
        "workers": workers,
        "behind_proxy": behind_proxy,
        "trusted_proxies": tuple(trusted_proxy) if trusted_proxy else None,
        "body_bytes": body_bytes,
        "rate": rate,
        "dashboard": dashboard,
    }
    server, settings = read_values((Server, Settings), values, os.environ)
    if "rate" in settings:
        settings.setdefault("burst", max(1, round(2 * settings["rate"])))
    if server.get("behind_proxy") or server.get("trusted_proxies"):
        settings.setdefault("https", True)
    Server(**server, settings=Settings(**settings)).run()
