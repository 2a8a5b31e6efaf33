"""Names of kept measures that tell under which settings they were measured."""

import hashlib
import json

from pydantic_core import to_jsonable_python


def digest(*settings: object) -> str:
    """Return eight hexadecimal digits of values, dataclasses and models; a function stands for its name."""
    plain = to_jsonable_python(settings, fallback=lambda function: function.__qualname__)
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:8]
