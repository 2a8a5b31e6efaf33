"""Files of torch.export and TorchScript, read so that nothing in them is a pickle or runs but its model.

`torch.export.load` unpickles, evaluates text as Python and calls whatever function of torch a file names, so
it is given another archive, made of what was found harmless here. This filter is no sandbox: what is left is
a program of torch's operations, and whoever made the file decides what it computes.
"""

import json
import re
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile

from ostraka.common.files.archives import check_members

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


ROOT = "archive"
_SCRIPT = re.compile(r"code/.+\.py|data\.pkl|constants\.pkl|(data|constants)/\d+|(\.data/)?version|byteorder")
"""Members of a TorchScript archive that loading needs; its data.pkl is no pickle that Python would run."""
_BLANKS = rb"(?:\s|\\|#[^\n]*\n)*"
_REACHES_OUT = re.compile(
    rb"\b(save|from_file|rpc_\w+)\b|\bops\b(?!\.(aten|prim|prims)\.)"
    rb"|getattr(?!\([\w.]+, \"[^\"'\\]+\"\))"
    rb"|(?<!\Wself)\." + _BLANKS + rb"classes\b|\btorch\nclasses\b|\"classes\"|\bself" + _BLANKS + rb"=(?!=)"
)
"""What in a TorchScript archive writes or reads files, calls other machines or is not a plain operation; and
names put together from parts, which would not be found. `torch.classes` holds what others registered: blanks
and comments may stand before the name, and no other object than a module itself may have such an attribute.
"""
_CODE = re.compile(r"[^/]+/code/")
_DAMAGE = (OSError, BadZipFile, ValueError, KeyError, TypeError, IndexError, RuntimeError, MemoryError)


class Archive:
    """A file that may be loaded.

    Attributes:
        script: whether it is TorchScript; else an exported program.
    """

    def __init__(self, members: Mapping[str, bytes], *, script: bool) -> None:
        self.script = script
        self._members = members

    @classmethod
    def read(cls, path: Path) -> "Archive":
        """Read what is harmless in a file; raise HarmfulError, in words that name no path."""
        try:
            members = _members(path)
            if MODEL in members:
                return cls(harmless_program(members), script=False)
            return cls(_harmless_script(members), script=True)
        except HarmfulError:
            raise
        except _DAMAGE as exc:
            raise HarmfulError("is not a file of torch.export or TorchScript") from exc

    def repack(self) -> BytesIO:
        """Return a new archive of the members, as torch reads it."""
        packed = BytesIO()
        with ZipFile(packed, "w", ZIP_STORED) as archive:
            for name, content in self._members.items():
                archive.writestr(f"{ROOT}/{name}", content)
        packed.seek(0)
        return packed


def _members(path: Path) -> dict[str, bytes]:
    """Contents by name below the archive's one folder."""
    with ZipFile(path) as archive:
        packed = (member.filename for member in archive.infolist() if member.compress_type != ZIP_STORED)
        if not all(_CODE.match(name) for name in packed):
            raise HarmfulError("holds compressed members, which torch does not write but for code")
        check_members(archive, path.stat().st_size)
        return {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}


def _harmless_script(members: Mapping[str, bytes]) -> dict[str, bytes]:
    if not any(name.startswith("code/") for name in members):
        raise HarmfulError("holds a pickle and no exported model")
    kept = {name: content for name, content in members.items() if _SCRIPT.fullmatch(name)}
    texts = (content for name, content in kept.items() if name.endswith((".py", ".pkl")))
    if any(_REACHES_OUT.search(text) for text in texts):
        raise HarmfulError("uses operations that read or write files, call others or are no part of torch")
    return kept
