"""Scripts, styles and the icon of the dashboard, from this process; browsers keep them as long as they are the same."""

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files

from fastapi import Request
from fastapi.responses import Response

from matchbandit.figures.page import bundle_scripts, chart_script
from matchbandit.service.problems import ApiError

A_YEAR = "public, max-age=31536000, immutable"


@dataclass(frozen=True)
class Asset:
    """A file that pages refer to."""

    content: bytes
    kind: str
    version: str
    packed: bytes


def _own(name: str) -> str:
    return files("matchbandit.service.dashboard").joinpath("static", name).read_text("utf-8")


def _figures(name: str) -> str:
    return files("matchbandit.figures").joinpath(name).read_text("utf-8")


_SOURCES: dict[str, tuple[str, Callable[[], str]]] = {
    "dashboard.css": ("text/css", lambda: _figures("page.css") + _own("dashboard.css")),
    "dashboard.js": ("text/javascript", lambda: _own("dashboard.js")),
    "heat.js": ("text/javascript", lambda: bundle_scripts(_own("heat.js"))),
    "charts.js": ("text/javascript", chart_script),
    "echarts.js": ("text/javascript", lambda: _figures("vendor/echarts.min.js")),
    "icon.svg": ("image/svg+xml", lambda: _own("icon.svg")),
}


@cache
def _asset(name: str) -> Asset:
    kind, read = _SOURCES[name]
    content = read().encode()
    return Asset(content, kind, sha256(content).hexdigest()[:16], gzip.compress(content, mtime=0))


def address(name: str) -> str:
    """Where a page finds this file; the address changes with the content."""
    return f"/assets/{name}?v={_asset(name).version}"


def serve(request: Request, name: str) -> Response:
    """The file, packed if the browser takes that."""
    if name not in _SOURCES:
        raise ApiError("not-found", "there is no such file.")
    asset = _asset(name)
    same = request.query_params.get("v") == asset.version
    headers = {"Cache-Control": A_YEAR if same else "no-cache", "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(asset.packed, media_type=asset.kind, headers=headers | {"Content-Encoding": "gzip"})
    return Response(asset.content, media_type=asset.kind, headers=headers)
