"""Names of cached measurements that identify their settings."""

import hashlib
import json

from pydantic_core import to_jsonable_python


def digest(*settings: object) -> str:
    """Return eight hexadecimal digits for values, dataclasses and models; a function counts by its name."""
    plain = to_jsonable_python(settings, fallback=lambda function: function.__qualname__)
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:8]
