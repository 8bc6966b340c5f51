"""Strict JSON bodies: non-standard constants and lone surrogates, which Python accepts, are refused."""

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
        """Wrap the handler so that bodies are parsed strictly."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            return await handler(_JsonRequest(request.scope, request.receive))

        return handle


class _JsonRequest(Request):
    async def body(self) -> bytes:
        """The body, which must be JSON; FastAPI reads it only where one is expected."""
        body = await super().body()
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if body and kind != "application/json":
            raise ApiError("no-json", f"the body must be application/json; got {kind[:80]!r}. Set the Content-Type.")
        return body

    async def json(self) -> Any:
        """Parse the body."""
        return parse(await self.body())


def parse(body: bytes) -> Any:
    """Parse JSON strictly.

    >>> parse(b'{"names": ["ann"]}')
    {'names': ['ann']}
    >>> parse(b"[NaN]")
    Traceback (most recent call last):
    ...
    matchbandit.service.problems.ApiError: 400: the body is not JSON: NaN is not a number.
    """
    try:
        text = body.decode()
        value = json.loads(text, parse_constant=_refuse_constant)
        if "\\ud" in text.lower():  # databases cannot store lone surrogates
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeDecodeError:
        raise ApiError("bad-json", "the body is not JSON: it must be UTF-8.") from None
    except UnicodeEncodeError:
        raise ApiError("bad-json", "the body is not JSON: it has half of a surrogate pair.") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ApiError("bad-json", f"the body is not JSON: {error.msg.lower()} at {where}.") from None
    except RecursionError:
        raise ApiError("bad-json", "the body is nested too deeply.") from None
    except ValueError:
        raise ApiError("bad-json", "the body has a number with thousands of digits.") from None
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ApiError("bad-json", f"the body is not JSON: {name} is not a number.")
