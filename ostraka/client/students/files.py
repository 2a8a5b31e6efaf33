"""Students in files: networks as safetensors, scikit-learn models as skops, never as pickle."""

import json
import math
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import nn

from ostraka.client.students.dp_sgd.guarantee import DpSgdGuarantee
from ostraka.client.students.neural import Neural
from ostraka.client.students.registry import STUDENTS, student_class
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import replace_durably
from ostraka.common.learning.data import Standardization
from ostraka.common.learning.factories import is_asked, is_factory
from ostraka.common.learning.learning import Learning, Look, TrainingHistory
from ostraka.common.learning.networks import DTYPES
from ostraka.common.learning.shape import Shape

_HEADER = "ostraka_student"
_NET = "net/"
_SCALING = "scaling/"
_ZIP = b"PK"


class UnaskedFactoryError(ValueError):
    """A file names a factory that the user did not name, so it is not imported."""


def save_student(student: Any, path: Path) -> None:
    """Write a fitted student, atomically; raise `config.invalid` if it cannot be written."""
    content = _network(student) if isinstance(student, Neural) else _estimator(student)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_durably(path, content)
    except OSError as exc:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, f"Cannot write {path} ({exc.strerror}): name another file."
        ) from exc


def load_student(path: Path) -> Any:
    """Return the student in a file, with `predict_proba` and `classes_`.

    Raises `data.missing` if there is no such file, `model.invalid` if it contains no student.
    """
    try:
        return parse_student(path.read_bytes(), path)
    except OSError as exc:
        raise OstrakaError(
            ErrorCode.DATA_MISSING,
            f"There is no student {path}: train one with `ostraka query retrain`.",
        ) from exc


def parse_student(content: bytes, path: Path) -> Any:
    """Return the student in a file's content; errors (`model.invalid`) name `path`."""
    if content.startswith(_ZIP):
        return _parse_estimator(content, path)
    try:
        return _parse_network(content)
    except UnaskedFactoryError as exc:
        raise unusable(path, f"its network is made by {exc}, which nobody named here") from exc
    except (SafetensorError, ValueError, KeyError, TypeError, RuntimeError, OstrakaError) as exc:
        raise unusable(path, "it holds neither a network nor a skops file") from exc


def unusable(path: Path, problem: str) -> OstrakaError:
    """Return the error for a file that contains no student."""
    return OstrakaError(
        ErrorCode.MODEL_INVALID,
        f"The student {path} cannot be used, {problem}: train it with `ostraka query retrain`.",
    )


def _network(student: Neural) -> bytes:
    tensors = {_NET + name: value.cpu().contiguous() for name, value in student.net_.state_dict().items()}
    for name, part in asdict(student.scaling_).items():
        tensors[_SCALING + name] = torch.from_numpy(part)
    parameters = student.get_params(deep=False)
    learning = parameters.pop("learning")
    header = {
        "student": _name(student),
        "parameters": parameters,
        "learning": None if learning is None else asdict(learning),
        "shape": student.shape or (student.n_features_in_,),
        "outputs": len(student.classes_),
        "multi_label": student.multi_label_,
        "history": asdict(student.history_),
        "guarantee": None if student.guarantee_ is None else asdict(student.guarantee_),
    }
    return save(tensors, {_HEADER: json.dumps(header)})


def _name(student: Neural) -> str:
    return next(name for name, kind in STUDENTS.items() if kind is type(student))


def _parse_network(content: bytes) -> Neural:
    header = json.loads(_metadata(content)[_HEADER])
    tensors = load(content)
    student = _make_student(header)
    if is_factory(student.network) and not is_asked(student.network):
        raise UnaskedFactoryError(student.network)
    shape = tuple(header["shape"])
    mean, factor = (tensors[_SCALING + name].numpy() for name in ("mean", "factor"))
    if mean.shape != factor.shape or mean.shape != (math.prod(shape),):
        raise ValueError("the scaling is of other records")
    guarantee = header.get("guarantee")
    looks = tuple(Look(**look) for look in header["history"]["looks"])
    return student.take(
        _restore_network(student, tensors, shape, header["outputs"]),
        Standardization(mean, factor),
        multi_label=bool(header["multi_label"]),
        outputs=header["outputs"],
        history=TrainingHistory(looks, header["history"]["kept"]),
        guarantee=None if guarantee is None else DpSgdGuarantee(**guarantee),
    )


def _restore_network(
    student: Neural, tensors: dict[str, torch.Tensor], shape: Shape, outputs: int
) -> nn.Module:
    """Return the network of a file; its header's sizes allocate no memory before the weights match them."""
    weights = {name.removeprefix(_NET): value for name, value in tensors.items() if name.startswith(_NET)}
    if not all(value.dtype in DTYPES and value.isfinite().all() for value in weights.values()):
        raise ValueError("a weight is not a number, or of another precision")
    with nullcontext() if is_factory(student.network) else torch.device("meta"):
        net = student.make_network(shape, outputs)
    net.load_state_dict(weights, assign=True)
    return net.to(memory_format=torch.channels_last).eval()  # type: ignore[call-overload, no-any-return]


def _make_student(header: dict[str, Any]) -> Neural:
    parameters = dict(header["parameters"])
    if parameters["shape"] is not None:
        parameters["shape"] = tuple(parameters["shape"])
    learning = header["learning"]
    return student_class(header["student"])(
        **parameters, learning=None if learning is None else Learning(**learning)
    )


def _metadata(content: bytes) -> dict[str, str]:
    """Return the metadata in a safetensors file's header: its length in 8 bytes, then JSON."""
    length = int.from_bytes(content[:8], "little")
    header: dict[str, dict[str, str]] = json.loads(content[8 : 8 + length])
    return header["__metadata__"]


def _estimator(student: Any) -> bytes:
    from ostraka.common.estimators.skops_files import dumps

    return dumps(student)


def _parse_estimator(content: bytes, path: Path) -> Any:
    from ostraka.common.estimators.skops_files import DamagedModelError, UnknownTypeError, loads

    try:
        return loads(content)
    except (UnknownTypeError, DamagedModelError) as exc:
        raise unusable(path, "it is not a skops file of trusted types") from exc
