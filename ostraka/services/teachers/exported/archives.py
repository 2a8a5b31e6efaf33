"""Files of torch.export and TorchScript, read so that no pickle is loaded and no code runs except the model.

`torch.export.load` unpickles, evaluates text as Python and calls any torch function that a file names, so it
gets a new archive, made of the parts that were found harmless here. This filter is not a sandbox: what
remains is a program of torch operations, and the file's author decides what it computes.
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
"""Functions that a program may call."""
_FUNCTIONS = ("target", "as_operator")
_NAME = re.compile(r"[\w.\-]*")
_SYMBOL = r"Symbol\('[su]\d+'(?:, (?:positive|integer|nonnegative)=True)*\)"
_FUNCTION = "Add|Mul|Pow|Mod|FloorDiv|CleanDiv|Max|Min|Integer|Rational"
_SIZE = re.compile(rf"(?:{_SYMBOL}|(?:{_FUNCTION})\(|-?\d+(?!\d)|[,) ])*")
"""Sizes, which torch parses by evaluating Python: numbers, symbols, and their sums and products."""
_SPEC_TYPES = (None, "builtins.tuple", "builtins.list", "builtins.dict")
_SPECS = ("in_spec", "out_spec")
_DROPPED = {"guards_code": [], "torch_version": ""}
"""Python code that torch would execute, and parts that it does not need."""


class HarmfulError(Exception):
    """A file is refused; the message says why."""


def harmless_program(members: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the members of an archive that loading needs, without pickles or executable text.

    Raises HarmfulError for anything else in them, and KeyError or ValueError if parts are missing or broken.
    """
    model = _without_metadata(json.loads(members[MODEL])) | _DROPPED
    _require_harmless(model, "")
    kept = {name: members[name] for name in (*_FORMAT, _WEIGHTS, _CONSTANTS)}
    for config, folder in ((_WEIGHTS, "data/weights/"), (_CONSTANTS, "data/constants/")):
        for path in _payloads(json.loads(members[config])):
            kept[folder + path] = members[folder + path]
    return kept | {MODEL: json.dumps(model).encode(), _SAMPLES: b""}


def _without_metadata(value: Any) -> Any:
    """Return the same JSON, with torch's informative metadata emptied."""
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
    """Raise HarmfulError unless a program's inputs and outputs are only tuples, lists and dicts."""
    if isinstance(value, list):
        for part in value:
            _require_harmless_spec(part)
    elif isinstance(value, dict):
        _require(value["type"] in _SPEC_TYPES)
        _require_harmless_spec(value["children_spec"])


def _payloads(config: Any) -> Iterator[str]:
    """Yield the names of the tensors' members."""
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
"""Members of a TorchScript archive that loading needs; Python does not unpickle its data.pkl."""
_BLANKS = rb"(?:\s|\\|#[^\n]*\n)*"
_REACHES_OUT = re.compile(
    rb"\b(save|from_file|rpc_\w+)\b|\bops\b(?!\.(aten|prim|prims)\.)"
    rb"|getattr(?!\([\w.]+, \"[^\"'\\]+\"\))"
    rb"|(?<!\Wself)\." + _BLANKS + rb"classes\b|\btorch\nclasses\b|\"classes\"|\bself" + _BLANKS + rb"=(?!=)"
)
"""What a TorchScript archive must not contain: reading or writing files, calls to other machines, operations
that are not plain; and names composed at run time, which a search would not find. `torch.classes` contains
third-party registrations: blanks and comments may precede the name, and only a module itself may have such an
attribute.
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
        """Read the harmless parts of a file; raise HarmfulError, with a message that contains no path."""
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
        """Return a new archive of the members, in torch's format."""
        packed = BytesIO()
        with ZipFile(packed, "w", ZIP_STORED) as archive:
            for name, content in self._members.items():
                archive.writestr(f"{ROOT}/{name}", content)
        packed.seek(0)
        return packed


def _members(path: Path) -> dict[str, bytes]:
    """Return the contents by name below the archive's single folder."""
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
