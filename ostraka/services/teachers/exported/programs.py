"""Allowed contents of a torch.export archive: operations on tensors, their names and sizes, weights."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

MODEL = "models/model.json"
_WEIGHTS = "data/weights/model_weights_config.json"
_CONSTANTS = "data/constants/model_constants_config.json"
_SAMPLES = "data/sample_inputs/model.pt"
_FORMAT = ("archive_format", "archive_version", "byteorder", ".data/version")
_PAYLOAD = re.compile(r"(weight|tensor)_\d+")
_ARITHMETIC = "add|sub|mul|neg|pow|mod|floordiv|truediv|eq|ne|lt|le|gt|ge|and_|or_|not_|getitem"
_TARGET = re.compile(
    r"torch\.ops\.aten\.(?!__|save\b|from_file\b)\w+\.[a-zA-Z]\w*"
    rf"|_operator\.({_ARITHMETIC})|math\.[a-z]\w*|torch\.sym_\w+"
)
"""Functions that a program calls."""
_FUNCTIONS = ("target", "as_operator")
_NAME = re.compile(r"[\w.\-]*")
_SYMBOL = r"Symbol\('[su]\d+'(?:, (?:positive|integer|nonnegative)=True)*\)"
_FUNCTION = "Add|Mul|Pow|Mod|FloorDiv|CleanDiv|Max|Min|Integer|Rational"
_SIZE = re.compile(rf"(?:{_SYMBOL}|(?:{_FUNCTION})\(|-?\d+(?!\d)|[,) ])*")
"""Sizes, as torch reads them by evaluating Python: numbers, symbols, and sums and products of these."""
_SPEC_TYPES = (None, "builtins.tuple", "builtins.list", "builtins.dict")
_SPECS = ("in_spec", "out_spec")
_DROPPED = {"guards_code": [], "torch_version": ""}
"""Python that torch would execute, and what it does not need."""


class HarmfulError(Exception):
    """A file is not loaded; says why."""


def harmless_program(members: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the members of an archive that loading needs, without pickles or text that would be run.

    Raises HarmfulError for what is neither, and KeyError or ValueError where parts are missing or broken.
    """
    model = _without_metadata(json.loads(members[MODEL])) | _DROPPED
    _require_harmless(model, "")
    kept = {name: members[name] for name in (*_FORMAT, _WEIGHTS, _CONSTANTS)}
    for config, folder in ((_WEIGHTS, "data/weights/"), (_CONSTANTS, "data/constants/")):
        for path in _payloads(json.loads(members[config])):
            kept[folder + path] = members[folder + path]
    return kept | {MODEL: json.dumps(model).encode(), _SAMPLES: b""}


def _without_metadata(value: Any) -> Any:
    """Return the same JSON, with nothing in what torch keeps for people."""
    if isinstance(value, list):
        return [_without_metadata(part) for part in value]
    if isinstance(value, dict):
        return {key: {} if key == "metadata" else _without_metadata(part) for key, part in value.items()}
    return value


def _require_harmless(value: Any, key: str) -> None:
    """Raise HarmfulError unless all texts below are names, sizes or operations."""
    if isinstance(value, dict):
        for name, part in value.items():
            _require_harmless(part, name)
            _require(_NAME.fullmatch(name))
    elif isinstance(value, list):
        for part in value:
            _require_harmless(part, key)
    elif isinstance(value, str) and key != "as_string":
        _require_harmless_text(value, key)


def _require_harmless_text(text: str, key: str) -> None:
    if key in _SPECS:
        _require_harmless_spec(json.loads(text))
    elif key in _FUNCTIONS:
        _require(_TARGET.fullmatch(text))
    else:
        _require((_SIZE if key == "expr_str" else _NAME).fullmatch(text))


def _require_harmless_spec(value: Any) -> None:
    """Raise HarmfulError unless a program takes and gives nothing but tuples, lists and dicts."""
    if isinstance(value, list):
        for part in value:
            _require_harmless_spec(part)
    elif isinstance(value, dict):
        _require(value["type"] in _SPEC_TYPES)
        _require_harmless_spec(value["children_spec"])


def _payloads(config: Any) -> Iterator[str]:
    """Names of the tensors' members."""
    for payload in config["config"].values():
        if payload["use_pickle"]:
            raise HarmfulError("holds pickles")
        _require(_PAYLOAD.fullmatch(payload["path_name"]))
        yield payload["path_name"]


def _require(found: object) -> None:
    if not found:
        raise HarmfulError("holds more than operations of torch on tensors")
