"""Redaction of logged values: plain values pass, everything else is named by its type alone.

Votes, shares, seeds and keys travel as bytes, arrays, tensors, messages and objects. None of these types is
ever written out, wherever in a value it is, so no caller has to remember which of them is secret.
"""

import datetime
import os
import re
from collections.abc import Mapping, Sequence, Set
from typing import Any

from ostraka.common.errors import OstrakaError

DEEPEST = 8
"""Containers in containers that are looked into."""
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.S)
_PLAIN = (str, int, float, type(None), datetime.date, datetime.time, datetime.timedelta, os.PathLike)


def redacted(value: Any, depth: int = DEEPEST) -> Any:
    """`value` with everything in it that is no plain value replaced, as in "<redacted bytes, 32>".

    Text, numbers, times and paths are plain; lists, sets and mappings of them are copied as lists and dicts.
    """
    if isinstance(value, str):
        return _PRIVATE_KEY.sub("<redacted private key>", value)
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, OstrakaError):
        return f"{value.code}: {value.message}"
    if depth and isinstance(value, Mapping):
        return {_key(key): redacted(item, depth - 1) for key, item in value.items()}
    if depth and _is_list(value):
        return [redacted(item, depth - 1) for item in value]
    return _named(value)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence | Set) and not isinstance(value, bytes | bytearray | memoryview)


def _key(key: Any) -> str:
    plain = redacted(key)
    return plain if isinstance(plain, str) else str(plain)


def _named(value: Any) -> str:
    """Return the type of a value, and its size where that is known without reading it."""
    size: Any = getattr(value, "shape", None)
    if isinstance(value, bytes | bytearray | memoryview):
        size = len(value)
    told = f", {tuple(size)}" if isinstance(size, tuple) else f", {size}" if isinstance(size, int) else ""
    return f"<redacted {type(value).__name__}{told}>"
