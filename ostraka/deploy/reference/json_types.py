"""Types and values of JSON schemas in words, as they stand in a TOML file."""

import json
from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]
_WORDS = {
    "string": "text",
    "integer": "integer",
    "number": "number",
    "boolean": "true or false",
    "object": "table",
}
_BOUNDS = (("minimum", ">="), ("exclusiveMinimum", ">"), ("maximum", "<="), ("exclusiveMaximum", "<"))


def type_text(described: Schema, whole: Schema) -> str:
    """Return the type of a key in words, with its bounds; `whole` is the schema that holds definitions."""
    if "$ref" in described:
        return type_text(whole["$defs"][described["$ref"].rpartition("/")[2]], whole)
    if "anyOf" in described:
        choices = [choice for choice in described["anyOf"] if choice.get("type") != "null"]
        return " or ".join(type_text(choice, whole) for choice in choices)
    if "const" in described:
        return value_text(described["const"])
    if "enum" in described:
        return ", ".join(f"`{value_text(value)}`" for value in described["enum"])
    if described.get("type") == "array":
        return f"list of {type_text(described['items'], whole)}"
    for values in (*described.get("patternProperties", {}).values(), described.get("additionalProperties")):
        if isinstance(values, Mapping):
            return f"table of {type_text(values, whole)}"
    bounds = [f"{sign} {_number(described[name])}" for name, sign in _BOUNDS if name in described]
    return ", ".join([_WORDS[described["type"]], *bounds])


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:g}"


def value_text(value: Any) -> str:
    """Return a default as it is written in TOML; `none` where leaving the key out means something else."""
    return "none" if value is None else json.dumps(value)
