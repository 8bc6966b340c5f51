"""An ASGI app driven by hand: messages in, messages out, no server between."""

import asyncio
import json
from collections.abc import Iterable
from typing import Any

Message = dict[str, Any]


def request(
    app: Any,
    *,
    method: str = "POST",
    path: str = "/",
    headers: Iterable[tuple[str, str]] = (),
    body: Iterable[bytes | None] = (b"",),
    context: Any = None,
) -> tuple[int, dict[str, str], bytes, int]:
    """Send a request part by part; None is a part that never comes. Gives status, headers, body, and parts read."""
    parts = list(body)
    read = 0
    sent: list[Message] = []

    async def receive() -> Message:
        nonlocal read
        if read == len(parts):
            return {"type": "http.disconnect"}
        part = parts[read]
        if part is None:
            await asyncio.Event().wait()
        read += 1
        return {"type": "http.request", "body": part, "more_body": read < len(parts)}

    async def send(message: Message) -> None:
        sent.append(message)

    scope: Message = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "scheme": "http",
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers],
        "client": ("203.0.113.7", 5000),
        "matchbandit": context,
    }
    asyncio.run(app(scope, receive, send))
    if not sent:
        return 0, {}, b"", read
    answer = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], answer, b"".join(one.get("body", b"") for one in sent[1:]), read


def code_of(body: bytes) -> str:
    return str(json.loads(body)["code"])
