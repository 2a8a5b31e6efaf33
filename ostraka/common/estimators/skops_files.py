"""Fitted estimators of scikit-learn as skops files: written, and read if every type and index is known."""

import ostraka.common.estimators.skops_import  # noqa: F401 - before any other import of skops

# isort: split
import json
import zipfile
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import numpy as np
import skops.io
from sklearn._loss import link, loss
from sklearn._loss._loss import CyExponentialLoss, CyHalfBinomialLoss, CyHalfMultinomialLoss
from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.linear_model import _sgd_fast
from sklearn.multiclass import _ConstantPredictor
from sklearn.neural_network._stochastic_optimizers import AdamOptimizer, SGDOptimizer
from sklearn.preprocessing import LabelBinarizer, LabelEncoder
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor
from sklearn.tree._tree import Tree
from sklearn.utils import Bunch

from ostraka.common.estimators.allowed import ALLOWED
from ostraka.common.estimators.soundness import is_sound
from ostraka.common.estimators.sum_models import SUM_MODELS, SUM_SCORES
from ostraka.common.files.archives import check_zip

_OBJECTS = (
    DecisionTreeRegressor,
    ExtraTreeRegressor,
    TreePredictor,
    _BinMapper,
    _ConstantPredictor,
    AdamOptimizer,
    SGDOptimizer,
    LabelBinarizer,
    LabelEncoder,
    link.Interval,
    link.IdentityLink,
    link.LogitLink,
    link.HalfLogitLink,
    link.MultinomialLogit,
    loss.HalfBinomialLoss,
    loss.HalfMultinomialLoss,
    loss.ExponentialLoss,
)
"""The parts of allowed estimators after fitting."""
_LOSSES = (
    CyHalfBinomialLoss,
    CyHalfMultinomialLoss,
    CyExponentialLoss,
    *(
        getattr(_sgd_fast, name)
        for name in (
            "Hinge",
            "SquaredHinge",
            "ModifiedHuber",
            "EpsilonInsensitive",
            "SquaredEpsilonInsensitive",
        )
    ),
)
_NUMBERS = {kind for kind in np.sctypeDict.values() if issubclass(kind, (np.number, np.bool_, np.str_))}

_Kind = tuple[str, str, str]
"""How a file names a part: skops' loader, module, class."""


def _kinds(loader: str, *types: type) -> set[_Kind]:
    return {(loader, kind.__module__, kind.__name__) for kind in types}


KNOWN: frozenset[_Kind] = frozenset(
    _kinds("ObjectNode", *ALLOWED, *_OBJECTS, *SUM_MODELS, *SUM_SCORES)
    | _kinds("TreeNode", Tree)
    | _kinds("LossNode", *_LOSSES)
    | _kinds("DictNode", dict, Bunch)
    | _kinds("ListNode", list)
    | _kinds("TupleNode", tuple)
    | _kinds("SliceNode", slice)
    | _kinds("JsonNode", str)
    | _kinds("NdArrayNode", np.ndarray, *_NUMBERS)
    | _kinds("TypeNode", str, int, float, bool, *_NUMBERS)
    | {("DTypeNode", "numpy", "dtype")}
    | _kinds("RandomStateNode", np.random.RandomState)
    | _kinds("RandomGeneratorNode", np.random.Generator)
)
TRUSTED: tuple[str, ...] = tuple(sorted({f"{module}.{name}" for _, module, name in KNOWN}))
"""Names that skops is told to trust; `unknown_type` has checked all of them together with their loader."""


def unknown_type(schema: Any) -> str | None:
    """Return the first type in a file's `schema.json` that no listed estimator has; None if all are known.

    A type is checked together with skops' loader for it; functions, methods and partial calls are never
    known.
    """
    return next((name for name in map(_unknown, _nodes(schema)) if name), None)


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every part of a schema that names its loader, wherever it is."""
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            if "__loader__" in one:
                yield one
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def _unknown(node: dict[str, Any]) -> str | None:
    kind = tuple(node.get(key) for key in ("__loader__", "__module__", "__class__"))
    known = all(isinstance(part, str) for part in kind) and kind in KNOWN
    return None if known else f"{kind[1]}.{kind[2]}"


_DAMAGE = (
    OSError,
    zipfile.BadZipFile,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    MemoryError,
    RecursionError,
    OverflowError,
    ArithmeticError,
    ImportError,
    NotImplementedError,
)
"""What skops, NumPy and the checks raise for damaged files."""


class UnknownTypeError(ValueError):
    """A file, or an estimator to be written, contains a type that is not on the list."""


class DamagedModelError(ValueError):
    """A file contains no estimator, or one that would read outside its own arrays."""


def dumps(model: Any) -> bytes:
    """Return a fitted estimator as a skops file; raise UnknownTypeError if `loads` would refuse it."""
    content = bytes(skops.io.dumps(model))
    _require_known(content)
    return content


def loads(content: bytes, features: int | None = None) -> Any:
    """Return the estimator of a skops file, safe to use on records with `features` values.

    Raises:
        UnknownTypeError: if it names a type that is not on the list; none of its parts was constructed.
        DamagedModelError: if it is damaged, takes other records, or points outside its own arrays.
    """
    try:
        check_zip(BytesIO(content))
        _require_known(content)
        model = skops.io.loads(content, trusted=list(TRUSTED))
        sound = type(model) in ALLOWED | SUM_MODELS and is_sound(model) and _takes(model, features)
    except UnknownTypeError:
        raise
    except _DAMAGE as exc:
        raise DamagedModelError("it is not whole") from exc
    if not sound:
        raise DamagedModelError("it leads outside its own arrays, or takes other records")
    return model


def _takes(model: Any, features: int | None) -> bool:
    """Whether an estimator that counts a record's values accepts this number; None: any number."""
    return features is None or getattr(model, "n_features_in_", features) == features


def _require_known(content: bytes) -> None:
    with zipfile.ZipFile(BytesIO(content)) as archive:
        unknown = unknown_type(json.loads(archive.read("schema.json")))
    if unknown is not None:
        raise UnknownTypeError(unknown)
