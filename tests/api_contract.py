"""What clients rely on in an OpenAPI description, and what of it a newer description breaks.

`python tests/api_contract.py FILE` writes the contract of the installed matchbandit: at each release, so that the next
one is compared with it.
"""

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Contract = dict[str, dict[str, Any]]


def contract(description: dict[str, Any]) -> Contract:
    """By request ("GET /v1/leagues"): its parameters, and the fields of its body and of its answers."""
    return {
        f"{method.upper()} {path}": {
            "parameters": {one["name"]: one.get("required", False) for one in operation.get("parameters", [])},
            "body": dict(_fields(_json(operation.get("requestBody", {})), description)),
            "answers": {
                status: sorted(dict(_fields(_json(answer), description)))
                for status, answer in operation["responses"].items()
                if status.startswith("2")
            },
        }
        for path, operations in description["paths"].items()
        for method, operation in operations.items()
        if path.startswith("/v1/")
    }


def breaks(old: Contract, new: Contract) -> list[str]:
    """What a client written for the old contract cannot do any more, a line each."""
    found = []
    for request, before in old.items():
        now = new.get(request)
        if now is None:
            found.append(f"{request} is gone")
            continue
        for part in ("parameters", "body"):
            found += [f"{request}: {part} lost {name}" for name in before[part] if name not in now[part]]
            found += [
                f"{request}: {part} needs {name} now"
                for name, required in now[part].items()
                if required and not before[part].get(name, False)
            ]
        for status, fields in before["answers"].items():
            given = now["answers"].get(status)
            if given is None:
                found.append(f"{request}: there is no answer {status} any more")
            else:
                found += [f"{request}: the answer {status} lost {name}" for name in fields if name not in given]
    return found


def _json(part: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = part.get("content", {}).get("application/json", {}).get("schema", {})
    return schema


def _fields(
    schema: dict[str, Any], description: dict[str, Any], *, above: str = "", seen: tuple[str, ...] = ()
) -> Iterator[tuple[str, bool]]:
    """Each field of an object, however deep, as `pairs[].names`, and whether it must be there."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name in seen:
            return
        seen, schema = (*seen, name), description["components"]["schemas"][name]
    for kind in schema.get("anyOf", []):
        yield from _fields(kind, description, above=above, seen=seen)
    if "items" in schema:
        yield from _fields(schema["items"], description, above=f"{above}[]", seen=seen)
    for name, inner in schema.get("properties", {}).items():
        place = f"{above}.{name}".lstrip(".")
        yield place, name in schema.get("required", [])
        yield from _fields(inner, description, above=place, seen=seen)


def current() -> Contract:
    """The contract of the installed matchbandit."""
    from matchbandit.live.store import Store
    from matchbandit.service.app import create_app

    with tempfile.TemporaryDirectory() as folder, Store(f"sqlite:///{folder}/store.db") as store:
        return contract(create_app(store).openapi())


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(current(), indent=1) + "\n", encoding="utf-8")
