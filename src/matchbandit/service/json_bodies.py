"""JSON as the standard has it: what Python's reader lets through besides is refused before it is looked at."""

import json
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

from fastapi import Request
from fastapi.responses import Response
from fastapi.routing import APIRoute

from matchbandit.service.problems import ApiError


class JsonRoute(APIRoute):
    """A route whose body, if it has one, is JSON."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, for requests that read their body strictly."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            return await handler(_JsonRequest(request.scope, request.receive))

        return handle


class _JsonRequest(Request):
    async def body(self) -> bytes:
        """The body; FastAPI asks for it only where one is taken."""
        body = await super().body()
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if body and kind != "application/json":
            raise ApiError("no-json", f"a body is application/json here; got {kind[:80]!r}. Set the Content-Type.")
        return body

    async def json(self) -> Any:
        """The body, read."""
        return read(await self.body())


def read(body: bytes) -> Any:
    """What the JSON says.

    >>> read(b'{"names": ["ann"]}')
    {'names': ['ann']}
    >>> read(b"[NaN]")
    Traceback (most recent call last):
    ...
    matchbandit.service.problems.ApiError: 400: the body is no JSON: NaN is no number there.
    """
    try:
        text = body.decode()
        value = json.loads(text, parse_constant=_no_number)
        if "\\ud" in text.lower():  # half of a pair of surrogates is no character, and no database keeps it
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeDecodeError:
        raise ApiError("bad-json", "the body is no JSON: it must be UTF-8.") from None
    except UnicodeEncodeError:
        raise ApiError("bad-json", "the body is no JSON: it has half of a surrogate pair.") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ApiError("bad-json", f"the body is no JSON: {error.msg.lower()} at {where}.") from None
    except RecursionError:
        raise ApiError("bad-json", "the body is nested too deeply.") from None
    except ValueError:
        raise ApiError("bad-json", "the body has a number with thousands of digits.") from None
    return value


def _no_number(name: str) -> NoReturn:
    raise ApiError("bad-json", f"the body is no JSON: {name} is no number there.")
