"""Responses of the API: records as JSON or CSV, with the headers that their kind of request has."""

import gzip
from collections.abc import Sequence
from dataclasses import asdict
from hashlib import blake2b
from typing import Annotated, Any, Literal

import msgspec
from fastapi import Depends, Query, Request
from fastapi.responses import Response

from matchbandit.leagues.csv_tables import csv_text
from matchbandit.leagues.records import Page, Proposal
from matchbandit.leagues.transaction import is_replay

_MIN_GZIP_BYTES = 1000
_GZIP_LEVEL = 1


def answer(request: Request, content: Any, status: int = 200, *, location: str = "", tag: str = "") -> Response:
    """A record as JSON; pages and proposals also as CSV. `location` is the path below /v1 of what was created.

    What is read has an ETag: `tag`, or a hash of the response.
    """
    headers = {}
    if location:
        headers["Location"] = f"/v1{location}"
    if isinstance(content, Page) and content.next is not None:
        headers["Link"] = f'<{request.url.include_query_params(after=content.next)}>; rel="next"'
    if isinstance(content, Page | Proposal | list) and request.method == "GET" and wants_csv(request):
        data, kind = csv_text(_rows(content)).encode(), "text/csv; charset=utf-8"
    else:
        data, kind = msgspec.json.encode(content), "application/json"
    if request.method == "GET":
        headers |= {"ETag": f'"{tag}"' if tag else f'W/"{blake2b(data, digest_size=12).hexdigest()}"'}
        headers |= {"Cache-Control": "private, no-cache", "Vary": "Accept, Accept-Encoding, Authorization"}
        if headers["ETag"].removeprefix("W/") in _tags(request, "if-none-match"):
            return Response(None, 304, headers)
    elif is_replay.get():
        headers["Idempotent-Replayed"] = "true"
    # Compressed here, in the thread of the request, rather than by a middleware on the event loop.
    if len(data) >= _MIN_GZIP_BYTES and accepted(request, "accept-encoding").get("gzip", 0.0) > 0:
        data, headers["Content-Encoding"] = gzip.compress(data, _GZIP_LEVEL), "gzip"
    return Response(data, status, headers, kind)


def no_content() -> Response:
    """The response of a request that has nothing to say."""
    return Response(None, 204, {"Idempotent-Replayed": "true"} if is_replay.get() else {})


def if_match(request: Request) -> str | None:
    """The tag that the settings must still have; None: they may have changed."""
    tags = _tags(request, "if-match", weak=False)
    return None if "if-match" not in request.headers or "*" in tags else "".join(tags[:1]).strip('"')


def _tags(request: Request, header: str, *, weak: bool = True) -> list[str]:
    tags = [tag.strip() for tag in request.headers.get(header, "").split(",")]
    return [tag.removeprefix("W/") if weak else tag for tag in tags]


def accepted(request: Request, header: str) -> dict[str, float]:
    """The values of an Accept header and their q-values."""
    weights = {}
    for part in request.headers.get(header, "").lower().split(","):
        name, *parameters = (text.strip() for text in part.split(";"))
        quality = next((text[2:] for text in parameters if text.startswith("q=")), "1")
        weights[name] = float(quality) if quality.replace(".", "", 1).isdecimal() else 0.0
    return weights


def wants_csv(request: Request) -> bool:
    """Does the client prefer CSV to JSON?"""
    if "format" in request.query_params:
        return request.query_params["format"] == "csv"
    weights = accepted(request, "accept")
    return weights.get("text/csv", 0.0) > weights.get("application/json", 0.0)


def _rows(content: Any) -> Sequence[Any]:
    """The rows of a table; proposals have one for each pair."""
    rows = [content] if isinstance(content, Proposal) else list(content)
    if not rows or not isinstance(rows[0], Proposal):
        return rows
    of_proposal = ("number", "at", "due", "policy")
    return [{name: getattr(row, name) for name in of_proposal} | asdict(pair) for row in rows for pair in row.pairs]


async def _format(
    format: Annotated[Literal["json", "csv"] | None, Query(description="Instead of Accept.")] = None,
) -> None:
    """Documents the parameter that `wants_csv` reads."""


TABLE = [Depends(_format)]
"""Dependencies of a route whose answer can be CSV."""
