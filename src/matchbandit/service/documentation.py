"""The OpenAPI description, and a documentation page that loads nothing from other servers."""

import json
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse, Response

from matchbandit.service.problems import MEDIA_TYPE, STATUSES, TITLES

INTRODUCTION = """\
A reward is what a pair achieved together, not who won. Ask for a proposal: numbered pairs of items. Tell what came
back, some or all, late, in any order; what never happened is "void", not 0.

Every request below `/v1` needs the header `Authorization: Bearer mbt_…`. A token reads, plays (asks and tells) or
administers, in some leagues or in all; of other leagues it learns nothing. A league is named by its slug and an item by
its id; names travel in bodies only.

Writing requests take a header `Idempotency-Key`: a repeat with the same key and content gets the same answer, and
nothing is done twice. Errors are `application/problem+json` with a `code` that programs can read. The header
`X-Request-ID` names a request in answers and in the log."""
CSP = "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
_STYLE = Path(__file__).with_name("documentation.css")
_PROBLEM: dict[str, Any] = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "code", "request_id"],
    "properties": {
        "type": {"type": "string", "description": "Where this kind of problem is explained."},
        "title": {"type": "string", "description": "The kind of problem, in a few words."},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What is wrong, with which value, and how to fix it."},
        "code": {"type": "string", "enum": sorted(STATUSES), "description": "The kind of problem, for programs."},
        "request_id": {"type": "string", "description": "Under which the log has this request."},
        "mistakes": {
            "type": "array",
            "description": "The invalid fields of the request.",
            "items": {
                "type": "object",
                "required": ["where", "what"],
                "properties": {"where": {"type": "string"}, "what": {"type": "string"}},
            },
        },
    },
}
_ALWAYS = (400, 401, 403, 404, 408, 413, 415, 422, 429, 500, 503)
"""Statuses of any request below `/v1`."""
_OPEN = (429, 500, 503)
"""Statuses of requests that need no token."""


def describe(app: FastAPI) -> None:
    """Describe errors as problems, instead of the schemas FastAPI assumes."""
    cached: dict[str, Any] = {}

    def openapi() -> dict[str, Any]:
        if not cached:
            cached.update(_build_openapi(app))
        return cached

    app.openapi = openapi  # type: ignore[method-assign]


def _build_openapi(app: FastAPI) -> dict[str, Any]:
    spec = get_openapi(
        title=app.title, version=app.version, summary=app.summary, description=app.description, routes=app.routes
    )
    parts = spec.setdefault("components", {})
    schemas = parts.setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas["Problem"] = _PROBLEM
    parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer", "description": "mbt_<id>_<secret>"}}
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for path, operations in spec["paths"].items():
        closed = path.startswith("/v1/") or path == "/metrics"
        for operation in operations.values():
            answers = operation["responses"]
            answers.pop("422", None)
            statuses = (*_ALWAYS, *((409,) if path.startswith("/v1/") else ())) if closed else _OPEN
            for status in sorted(statuses):
                codes = [TITLES[code] for code, its in STATUSES.items() if its == status]
                answers[str(status)] = {"description": "; ".join(codes), "content": content}
            if closed:
                operation["security"] = [{"token": []}]
    return spec


def router(app: FastAPI) -> APIRouter:
    """The page and its style."""
    pages = APIRouter(include_in_schema=False)

    @cache
    def page() -> str:
        return _page(app.openapi())

    @pages.get("/docs", response_class=HTMLResponse)
    def docs() -> Response:
        return HTMLResponse(page(), headers={"Content-Security-Policy": CSP})

    @cache
    def description() -> bytes:
        return json.dumps(app.openapi(), ensure_ascii=False, separators=(",", ":")).encode()

    @pages.get("/openapi.json")
    def openapi_json() -> Response:
        return Response(description(), media_type="application/json")

    @pages.get("/docs/style.css")
    def style() -> Response:
        return Response(_STYLE.read_text(encoding="utf-8"), media_type="text/css")

    return pages


def _page(spec: dict[str, Any]) -> str:
    """The whole description as one page of HTML."""
    paths = [
        (path, method, operation) for path, methods in spec["paths"].items() for method, operation in methods.items()
    ]
    sections: dict[str, list[str]] = {}
    for path, method, operation in paths:
        group = operation.get("tags", ["other"])[0]
        sections.setdefault(group, []).append(_operation(path, method, operation, spec))
    contents = "".join(f'<li><a href="#{escape(group)}">{escape(group)}</a></li>' for group in sections)
    body = "".join(
        f'<h2 id="{escape(group)}">{escape(group)}</h2>{"".join(parts)}' for group, parts in sections.items()
    )
    schemas = "".join(_schema(name, schema) for name, schema in sorted(spec["components"]["schemas"].items()))
    problems = "".join(
        f'<tr id="{code}"><td><code>{code}</code></td><td>{STATUSES[code]}</td><td>{escape(TITLES[code])}</td></tr>'
        for code in sorted(STATUSES)
    )
    introduction = "".join(f"<p>{_inline(part)}</p>" for part in spec["info"]["description"].split("\n\n"))
    title = f"{spec['info']['title']} {spec['info']['version']}: the API"
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title><link rel="stylesheet" href="/docs/style.css"></head>
<body><a class="skip" href="#main">Skip to the content</a>
<header><h1>{escape(title)}</h1>{introduction}<p>The same for programs: <a href="/openapi.json">openapi.json</a></p>
<nav aria-label="Contents"><ul>{contents}<li><a href="#bodies">bodies</a></li><li><a href="#problems">problems</a></li>
</ul></nav></header>
<main id="main">{body}<h2 id="bodies">bodies</h2>{schemas}
<h2 id="problems">problems</h2><div class="wide"><table><thead><tr><th scope="col">code</th><th scope="col">status</th>
<th scope="col">meaning</th></tr></thead><tbody>{problems}</tbody></table></div></main></body></html>
"""


def _operation(path: str, method: str, operation: dict[str, Any], spec: dict[str, Any]) -> str:
    """One operation, with its parameters, body and answers."""
    rows = [
        (f"{one['name']} ({one['in']}{', needed' if one.get('required') else ''})", _kind(one["schema"]),
         one.get("description") or one["schema"].get("description", ""))
        for one in operation.get("parameters", [])
    ]  # fmt: skip
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    if body is not None:
        rows.append(("body", _kind(body), ""))
    for status, answer in operation["responses"].items():
        if status.startswith("2"):
            for medium, content in answer.get("content", {}).items():
                rows.append((f"answer {status}", _kind(content.get("schema", {})), medium))
    lines = "".join(
        f"<tr><th scope='row'>{escape(name)}</th><td>{kind}</td><td>{_inline(about)}</td></tr>"
        for name, kind, about in rows
    )
    description = "".join(f"<p>{_inline(part)}</p>" for part in operation.get("description", "").split("\n\n") if part)
    return (
        f"<section><h3><code><b>{method.upper()}</b> {escape(path)}</code></h3>"
        f"<p><strong>{escape(operation.get('summary', ''))}</strong></p>{description}"
        f'<div class="wide"><table><tbody>{lines}</tbody></table></div></section>'
    )


def _schema(name: str, schema: dict[str, Any]) -> str:
    """One schema with its fields."""
    required = schema.get("required", [])
    lines = "".join(
        f"<tr><th scope='row'>{escape(field)}{'' if field in required else ' (may be left out)'}</th>"
        f"<td>{_kind(about)}</td><td>{_inline(about.get('description', ''))}</td></tr>"
        for field, about in schema.get("properties", {}).items()
    )
    return (
        f'<section><h3 id="{escape(name)}">{escape(name)}</h3><p>{_inline(schema.get("description", ""))}</p>'
        f'<div class="wide"><table><tbody>{lines}</tbody></table></div></section>'
    )


def _kind(schema: dict[str, Any]) -> str:
    """The type of a value, as HTML with links to schemas."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(_kind(one) for one in schema["anyOf"])
    if "enum" in schema or "const" in schema:
        return " or ".join(f"<code>{escape(str(value))}</code>" for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    return escape(str(schema.get("type", "anything")))


def _inline(text: str) -> str:
    """Plain text with `code` as HTML."""
    parts = escape(text, quote=False).split("`")
    return "".join(f"<code>{part}</code>" if k % 2 else part for k, part in enumerate(parts))
