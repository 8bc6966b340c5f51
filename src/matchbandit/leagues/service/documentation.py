"""The description of the API in OpenAPI, with examples, and a page to try requests, offline."""

import gzip
import json
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import Response
from fastapi.staticfiles import StaticFiles

from matchbandit.leagues.errors import CODES
from matchbandit.leagues.service.problems import MEDIA_TYPE

INTRODUCTION = """\
A reward is what a pair achieved together, not who won. Ask for a proposal: numbered pairs of items. Tell what came
back, some or all, late, in any order; what never happened is "void", not 0.

Every request needs the header `Authorization: Bearer mbt_…`. A token reads, plays (asks and tells) or administers, in
some leagues or in all; `matchbandit token new` makes one. Items are given by name or by id.

Writing requests take a header `Idempotency-Key`: a repeat with the same key and content gets the same answer, with
`Idempotent-Replayed: true`, and nothing is done twice. Lists are pages, with `next` and a header `Link`; they are CSV
with `Accept: text/csv` or `?format=csv`. What is read has an `ETag`. Errors are `application/problem+json` with a
`code` for programs; after 429 and 503, wait for `Retry-After` seconds and repeat the request."""
_FOLDER = Path(__file__).parent
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>matchbandit: the API</title>
<link rel="icon" href="/docs/static/favicon.png"><link rel="stylesheet" href="/docs/static/swagger-ui.css"></head>
<body><div id="swagger-ui"></div><script src="/docs/static/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script></body></html>"""
_START = """SwaggerUIBundle({url: "/openapi.json", dom_id: "#swagger-ui", deepLinking: true,
  persistAuthorization: false, tryItOutEnabled: true, validatorUrl: null, presets: [SwaggerUIBundle.presets.apis]})"""
_CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_PROBLEM: dict[str, Any] = {
    "type": "object",
    "required": ["status", "code", "title", "detail", "field", "request_id"],
    "properties": {
        "status": {"type": "integer"},
        "code": {"type": "string", "enum": sorted(CODES), "description": "The kind of problem, for programs."},
        "title": {"type": "string", "description": "The kind of problem, in words."},
        "detail": {"type": "string", "description": "What is wrong, with which value, and how to fix it."},
        "field": {"type": ["string", "null"], "description": "The field, parameter or header that is wrong."},
        "request_id": {"type": "string", "description": "The log of the server has it, too."},
    },
}
_STATUSES = (400, 401, 403, 404, 409, 422, 429, 500, 503)
_OF_BODIES = (408, 413)
_LEAGUE = {
    "name": "league",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "pattern": "^[^/]+$"},
    "description": "The slug of the league.",
}
_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "schema": {"type": "string", "minLength": 1, "maxLength": 100, "pattern": "^[ -~]+$"},
    "description": "A repeated request with the same key is executed once.",
}
_IF_MATCH = {
    "name": "If-Match",
    "in": "header",
    "schema": {"type": "string", "pattern": '^"[0-9a-f]+"$'},
    "description": "The ETag of the settings that are to be changed; 412 if they have been changed since.",
}


def describe(app: FastAPI) -> None:
    """Complete the description: bodies that routes read themselves, errors, headers and examples."""
    build = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = build()
            schemas = schema["components"]["schemas"]
            examples = json.loads((_FOLDER / "examples.json").read_text(encoding="utf-8"))
            for path, operations in schema["paths"].items():
                for method, operation in operations.items():
                    schemas.update(operation.pop("x-components", {}))
                    if "{league}" in path:
                        operation.setdefault("parameters", []).insert(0, _LEAGUE)
                    _complete(method, operation, examples.get(operation["operationId"], {}))
            for name in ("HTTPValidationError", "ValidationError"):
                schemas.pop(name, None)
            schemas["Problem"] = _PROBLEM
        assert app.openapi_schema is not None
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _complete(method: str, operation: dict[str, Any], example: dict[str, Any]) -> None:
    """Describe the errors and headers of an operation, and give an example of its request and response."""
    responses = operation["responses"]
    statuses = list(_STATUSES)
    if method != "get":
        operation.setdefault("parameters", []).append(_KEY)
    if method == "patch":
        operation["parameters"].append(_IF_MATCH)
        statuses.append(412)
    if "requestBody" in operation:
        statuses += _OF_BODIES
    for status in statuses:
        titles = "; ".join(code.title for code in CODES.values() if code.status == status)
        content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
        responses[str(status)] = {"description": titles, "content": content}
    if "request" in example:
        operation["requestBody"]["content"]["application/json"]["example"] = example["request"]
    if "response" in example:
        status = next(iter(responses))
        responses[status]["content"]["application/json"]["example"] = example["response"]
    if any(each["name"] == "format" for each in operation.get("parameters", ())):
        responses["200"]["content"]["text/csv"] = {"schema": {"type": "string"}}


def add_pages(app: FastAPI) -> None:
    """Serve the description and the page that uses it."""
    router = APIRouter(include_in_schema=False)

    @cache
    def description() -> tuple[bytes, bytes]:
        data = json.dumps(app.openapi(), ensure_ascii=False, separators=(",", ":")).encode()
        return data, gzip.compress(data)

    @router.get("/openapi.json")
    def openapi_json(request: Request) -> Response:
        plain, packed = description()
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers = {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
            return Response(packed, headers=headers, media_type="application/json")
        return Response(plain, media_type="application/json", headers={"Vary": "Accept-Encoding"})

    @router.get("/docs")
    async def docs() -> Response:
        return Response(_PAGE, media_type="text/html", headers={"Content-Security-Policy": _CSP})

    @router.get("/docs/start.js")
    async def start() -> Response:
        return Response(_START, media_type="text/javascript")

    app.include_router(router)
    package = find_spec("fastapi_offline")
    assert package is not None
    assert package.origin is not None
    app.mount("/docs/static", StaticFiles(directory=Path(package.origin).parent / "static"))
