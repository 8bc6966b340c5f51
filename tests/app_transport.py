"""Requests to an app over ASGI: through httpx, or message by message."""

from collections.abc import Iterable
from typing import Any

import anyio
import httpx
from anyio.from_thread import BlockingPortal


class AppTransport(httpx.BaseTransport):
    """Sends requests to an app instead of a network, on the event loop of a portal."""

    def __init__(self, app: Any, portal: BlockingPortal) -> None:
        self.app, self._portal, self._inner = app, portal, httpx.ASGITransport(app)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        return self._portal.call(self._send, request)

    async def _send(self, request: httpx.Request) -> httpx.Response:
        answer = await self._inner.handle_async_request(request)
        assert isinstance(answer.stream, httpx.AsyncByteStream)
        content = b"".join([part async for part in answer.stream])
        return httpx.Response(answer.status_code, headers=answer.headers, stream=httpx.ByteStream(content))

    def send_raw(
        self, method: str, path: str, headers: Iterable[tuple[str, str]], body: Iterable[bytes | None] = (b"",)
    ) -> tuple[int, bytes]:
        """Send a body part by part, and exactly these headers; None is a part that never comes."""
        parts, sent = list(body), []

        async def receive() -> dict[str, Any]:
            if not parts:
                return {"type": "http.disconnect"}
            part = parts.pop(0)
            if part is None:
                await anyio.sleep_forever()
            return {"type": "http.request", "body": part, "more_body": bool(parts)}

        async def collect(message: Any) -> None:
            sent.append(message)

        scope: dict[str, Any] = {"type": "http", "method": method, "path": path, "raw_path": path.encode()}
        scope |= {"query_string": b"", "scheme": "http", "http_version": "1.1", "root_path": ""}
        scope |= {"headers": [(name.lower().encode(), value.encode()) for name, value in headers]}
        self._portal.call(self.app, scope, receive, collect)
        return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


def code_of(answer: httpx.Response) -> str:
    """The code of a problem."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    assert answer.json()["status"] == answer.status_code
    return str(answer.json()["code"])
