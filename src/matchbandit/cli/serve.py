"""`matchbandit serve`: leagues over HTTP."""

from typing import Annotated

import typer

from matchbandit.cli.league.common import STORE, StoreUrl, url_of
from matchbandit.cli.parsing import number, whole
from matchbandit.extras import need


def serve(
    store: StoreUrl = STORE,
    host: Annotated[
        str, typer.Option(help="The address to listen at; beyond this machine only once there is a token.")
    ] = "127.0.0.1",
    port: Annotated[str, typer.Option(help="0 takes any that is free.")] = "8000",
    workers: Annotated[str, typer.Option(help="Processes; one is right for SQLite.")] = "1",
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="A proxy on this machine speaks https and says who asks.")
    ] = False,
    body_bytes: Annotated[str, typer.Option(help="The largest body of a request.")] = "1048576",
    rate: Annotated[str, typer.Option(help="Requests a second that one token may make.")] = "1000",
    no_dashboard: Annotated[bool, typer.Option("--no-dashboard", help="The API alone.")] = False,
) -> None:
    """Serve leagues over HTTP: a JSON API and a dashboard.

    Its log is JSON, a line a request, on stderr. TERM and Ctrl-C stop it; what is being answered is answered first.
    """  # fmt: skip
    for module in ("sqlalchemy", "fastapi", "uvicorn", "prometheus_client", "jinja2"):
        need(module, "the service")
    from matchbandit.service.server import Server
    from matchbandit.service.settings import Settings

    a_second = number("--rate", rate, example="1000")
    settings = Settings(
        body_bytes=whole("--body-bytes", body_bytes),
        rate=a_second,
        burst=max(1, round(2 * a_second)) if 0 < a_second < 1e12 else 1,
        https=behind_proxy,
        dashboard=not no_dashboard,
    )
    Server(
        store=url_of(store),
        host=host,
        port=0 if port.strip() == "0" else whole("--port", port),
        workers=whole("--workers", workers),
        behind_proxy=behind_proxy,
        settings=settings,
    ).run()
