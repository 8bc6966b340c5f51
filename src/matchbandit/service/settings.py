"""Settings of the server: their defaults, their limits, and how options and environment variables set them."""

import ipaddress
import time
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from datetime import timedelta
from typing import Any

from matchbandit.errors import MatchbanditError, check_float, check_int, unknown
from matchbandit.live.maintenance import Retention

PREFIX = "MATCHBANDIT_SERVE_"
"""The environment variable of a setting is this and its name in capitals."""
_BOOLEANS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def _may_be_zero(default: float) -> Any:
    return field(default=default, metadata={"minimum": 0})


@dataclass(frozen=True)
class Settings:
    """Limits and times of one server; each of its processes counts for itself."""

    body_bytes: int = 2**20
    """Largest body of a request with a token or a session cookie; a larger one is refused before it is read."""
    anonymous_body_bytes: int = 2**14
    """Largest body of a request with neither, such as a login."""
    buffered_bytes: int = 64 * 2**20
    """Bodies that a process holds in memory, in total, half of it for requests with a token; beyond that: 503."""
    body_seconds: float = 20.0
    """Time limit for a body to arrive."""
    import_bytes: int = 16 * 2**20
    """Largest export that can be imported over HTTP, compressed and uncompressed."""
    import_seconds: float = 120.0
    """Time limit for an export to arrive."""
    retention_days: float = _may_be_zero(30.0)
    """How long idempotency keys, and ended tokens and sessions, are kept."""
    grace_days: float = _may_be_zero(30.0)
    """How long a deleted league can be restored."""
    answer_seconds: float = 30.0
    """Time limit for a response to begin. The work may still finish; a repeat with the same key finds its result."""
    header_bytes: int = 2**14
    """Largest request line and headers together; more gets 431."""
    header_seconds: float = 10.0
    """Time limit for the headers of a request to arrive, also on a connection that has sent nothing yet."""
    idle_seconds: float = 30.0
    """How long a connection may stay open between two requests."""
    send_seconds: float = 30.0
    """How long a client may leave a response unread before its connection is closed."""
    max_connections: int = 1000
    """Open connections of a process. Beyond that, 32 more are accepted for health checks only."""
    connections_per_address: int = 200
    """Open connections from one address (IPv6: one /64 network); trusted proxies are exempt."""
    in_flight: int = 200
    """Requests in progress or waiting at the same time; more are turned away at once."""
    in_flight_per_league: int = 32
    """Requests of one league in progress or waiting; more get 503. It has a part of the threads, others the rest."""
    in_flight_per_token: int = 64
    """Requests of one token in progress or waiting, or of one address without a token; more get 429."""
    rate: float = 1000.0
    """Requests per second that a token may make in the long run."""
    burst: int = 2000
    """Requests that a token may make at once after a pause; twice the rate if only the rate is set."""
    wrong_tokens: int = 600
    """Wrong tokens per minute from one address before its unknown tokens are no longer looked up."""
    token_seconds: float = 1.0
    """How long a token is cached: a running server notices a revocation after this time."""
    threads: int = 16
    """Requests that one process works on at the same time."""
    compute_workers: int = 2
    """Processes for slow decisions and fits beside each server process; they start when needed."""
    compute_seconds: float = 20.0
    """Time limit of a slow decision or fit; one that is estimated to take more than half of it is refused at once."""
    tick_seconds: float = _may_be_zero(5.0)
    """Time between two checks for passed deadlines; 0: never, another process does it."""
    https: bool = False
    """Browsers reach the server by https: cookies are Secure and HSTS is sent. On with a proxy."""
    dashboard: bool = True
    """Serve the dashboard beside the API."""
    monotonic: Callable[[], float] = time.monotonic
    """The clock of rates."""

    def __post_init__(self) -> None:
        """Check all values."""
        check_fields(self)
        _ = self.retention  # refuses ages that are too long

    @property
    def retention(self) -> Retention:
        """The ages in the form that a store takes."""
        try:
            kept = timedelta(days=self.retention_days)
            return Retention(keys=kept, access=kept, deleted=timedelta(days=self.grace_days))
        except OverflowError:
            raise MatchbanditError("retention_days and grace_days are at most 36500.") from None


def variable_of(each: Field[Any]) -> str:
    """Name the environment variable of a setting.

    >>> variable_of(fields(Settings)[0])
    'MATCHBANDIT_SERVE_BODY_BYTES'
    """
    return str(each.metadata.get("variable", PREFIX + each.name.upper()))


def option_of(name: str) -> str:
    """Name the command-line option of a setting.

    >>> option_of("body_bytes"), option_of("trusted_proxies")
    ('--body-bytes', '--trusted-proxy')
    """
    return "--trusted-proxy" if name == "trusted_proxies" else f"--{name.replace('_', '-')}"


def configurable(kind: type) -> list[Field[Any]]:
    """List the fields of a settings class that an option or a variable can set."""
    return [each for each in fields(kind) if each.type in (int, float, bool, str, tuple[str, ...])]


def check_fields(settings: Any) -> None:
    """Check every number, level and network of a settings object, naming the field in errors."""
    for each in configurable(type(settings)):
        _check(each, getattr(settings, each.name), each.name)


def read_values(
    kinds: tuple[type, ...], options: Mapping[str, Any], environment: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Read settings from options and environment variables.

    Parameters
    ----------
    kinds : tuple of dataclass types
        The classes whose fields are read.
    options : mapping
        What was typed, by field name; None where an option was left out.
    environment : mapping
        Variables such as `MATCHBANDIT_SERVE_PORT`; used where the option was left out.

    Returns
    -------
    list of dict
        For each class, the values that were set; its defaults hold for the others.
    """
    known = [variable_of(each) for kind in kinds for each in configurable(kind)]
    for variable in environment:
        if variable.startswith(PREFIX) and variable not in known:
            raise unknown("environment variable", variable, known)
    values: list[dict[str, Any]] = []
    for kind in kinds:
        values.append({})
        for each in configurable(kind):
            typed, variable = options.get(each.name), variable_of(each)
            source = option_of(each.name) if typed is not None else variable
            raw = typed if typed is not None else environment.get(variable)
            if raw is not None:
                values[-1][each.name] = _check(each, _parse(each, raw, source), source)
    return values


def _parse(each: Field[Any], raw: Any, source: str) -> Any:
    if not isinstance(raw, str):
        return raw
    text = raw.strip()
    if each.type is bool:
        if text.lower() not in _BOOLEANS:
            raise MatchbanditError(f"{source} must be 1 or 0, true or false; got {raw!r}.")
        return _BOOLEANS[text.lower()]
    if each.type in (int, float):
        try:
            return int(text)
        except ValueError:
            pass
        try:
            return float(text)
        except ValueError:
            raise MatchbanditError(f"{source} must be a number such as {each.default:g}; got {raw!r}.") from None
    if each.type is str:
        return text
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _check(each: Field[Any], value: Any, source: str) -> Any:
    """Return the value in the field's type, or raise an error that names where the value came from."""
    if each.type is int:
        bounds = {"minimum": 1, **{key: each.metadata[key] for key in ("minimum", "maximum") if key in each.metadata}}
        return check_int(source, value, **bounds)
    if each.type is float:
        number = check_float(source, value)
        if number < 0 or (number == 0 and each.metadata.get("minimum") != 0):
            raise MatchbanditError(f"{source} must be positive; got {value!r}.")
        return number
    if each.type is bool and not isinstance(value, bool):
        raise MatchbanditError(f"{source} must be true or false; got {value!r}.")
    if "choices" in each.metadata and value not in each.metadata["choices"]:
        raise MatchbanditError(f"{source} must be one of {', '.join(each.metadata['choices'])}; got {value!r}.")
    if each.type == tuple[str, ...]:
        for part in value:
            _check_network(part, source)
    return value


def _check_network(text: str, source: str) -> None:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        try:
            hint = f" Use {ipaddress.ip_network(text, strict=False)}."
        except ValueError:
            hint = " Use an address or a network such as 10.0.0.0/8."
        raise MatchbanditError(f"{source} takes addresses and networks; got {text!r}.{hint}") from None
