"""A policy's memory as plain JSON and back, to the bit."""

import base64
import json
from hashlib import blake2b
from typing import Any

import numpy as np

_SAFE_INT = 2**53


def pack(value: Any) -> Any:
    """The value as plain JSON data: arrays as base64, whole numbers that JSON readers may round as text.

    >>> pack(np.array([1, 2], dtype=np.int8))
    {'array': 'AQI=', 'dtype': '|i1', 'shape': [2]}
    >>> pack({"a": (1, 2.5), "b": 2**60})
    {'a': [1, 2.5], 'b': {'int': '1152921504606846976'}}
    """
    if isinstance(value, np.ndarray):
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode("ascii")
        return {"array": data, "dtype": value.dtype.str, "shape": list(value.shape)}
    if isinstance(value, np.generic):
        return pack(value.item())
    if isinstance(value, dict):
        return {key: pack(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [pack(inner) for inner in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _SAFE_INT:
        return {"int": str(value)}
    return value


def unpack(value: Any) -> Any:
    """What `pack` packed; tuples come back as lists.

    >>> unpack(pack({"x": np.eye(2), "n": 2**100}))["n"] == 2**100
    True
    """
    if isinstance(value, dict):
        if value.keys() == {"array", "dtype", "shape"}:
            flat = np.frombuffer(base64.b64decode(value["array"]), dtype=np.dtype(value["dtype"]))
            return flat.reshape(value["shape"]).copy()
        if value.keys() == {"int"}:
            return int(value["int"])
        return {key: unpack(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [unpack(inner) for inner in value]
    return value


def checksum(packed: Any) -> str:
    """A short name for packed data, the same before and after a trip through JSON."""
    return blake2b(json.dumps(packed, sort_keys=True).encode(), digest_size=8).hexdigest()
