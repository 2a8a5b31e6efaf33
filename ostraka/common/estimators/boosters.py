"""Models of XGBoost and LightGBM that vote: one for all classes, or one for each label.

Their files contain the libraries' own text formats in JSON, never a pickle.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.estimators.lightgbm_models import LightGBMModel
from ostraka.common.estimators.skops_files import DamagedModelError
from ostraka.common.estimators.xgboost_models import XGBoostModel
from ostraka.common.validation import FrozenModel


class BoosterModel(Protocol):
    """A model of one library; `text` is the content of its file."""

    text: str

    def predict(self, X: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return probabilities: of the second of two classes, (N,), or of each class, (N, classes)."""
        ...


LIBRARIES: Mapping[str, Any] = {"xgboost": XGBoostModel, "lightgbm": LightGBMModel}
_CLASSIFIERS: Mapping[tuple[str, str], str] = {
    ("xgboost.sklearn", "XGBClassifier"): "xgboost",
    ("lightgbm.sklearn", "LGBMClassifier"): "lightgbm",
}
_SETTINGS: Mapping[str, Mapping[str, tuple[Any, ...]]] = {
    "xgboost": {
        "booster": (None, "gbtree"),
        "objective": (None, "binary:logistic", "multi:softprob"),
        "enable_categorical": (False, None),
    },
    "lightgbm": {"boosting_type": ("gbdt", "dart"), "objective": (None, "binary", "multiclass")},
}
"""Parameter values whose models can be stored and checked."""


def library_of(estimator: Any) -> str | None:
    """Return the library of a classifier, "xgboost" or "lightgbm"; None for any other estimator."""
    kind = type(estimator)
    return _CLASSIFIERS.get((kind.__module__, kind.__name__))


def require_keepable(estimator: Any, model: str) -> None:
    """Raise `model.invalid`, before training, for a classifier with settings that cannot be stored."""
    library = library_of(estimator) or ""
    given = estimator.get_params()
    wrong = [name for name, allowed in _SETTINGS[library].items() if given.get(name) not in allowed]
    missing = given.get("missing")
    if missing is not None and not np.isnan(missing):
        wrong.append("missing")
    if wrong:
        raise OstrakaError(
            ErrorCode.MODEL_INVALID,
            f"The model {model} sets {wrong[0]} to {given[wrong[0]]!r}, which is not allowed: "
            "docs/teachers.md lists what is.",
        )


_OBJECTIVES: Mapping[str, tuple[str, str]] = {
    "xgboost": ("binary:logistic", "multi:softprob"),
    "lightgbm": ("binary", "multiclass"),
}
"""Objectives for two classes, and for more: a slice may have fewer classes than the task."""


class Boosters:
    """Fitted models of one library that predict like an estimator of scikit-learn.

    Attributes:
        library: "xgboost" or "lightgbm".
        n_features_in_: number of values of a record.
        classes_: learned class indices, int64 (classes,); None for labels.
        models: one for all classes; or for each label one, or the probability of a label that never differs.
    """

    def __init__(
        self,
        library: str,
        features: int,
        classes: Sequence[int] | None,
        models: Sequence[BoosterModel | int],
    ) -> None:
        self.library = library
        self.n_features_in_ = features
        self.classes_ = None if classes is None else np.asarray(classes, np.int64)
        self.models = models

    @classmethod
    def read(
        cls, library: str, features: int, classes: Sequence[int] | None, texts: Sequence[str | int]
    ) -> "Boosters":
        """Check the models of a file; raise ValueError for one that is unsound or takes other records."""
        outcomes = 2 if classes is None else len(classes)
        kind = LIBRARIES[library]
        models = [text if isinstance(text, int) else kind(text, features, outcomes) for text in texts]
        return cls(library, features, classes, models)

    @classmethod
    def fit(cls, estimator: Any, X: NDArray[np.float32], y: NDArray[np.int64]) -> "Boosters":
        """Fit a classifier to class indices (N,), or a copy to each label's known 0 and 1 (N, labels)."""
        library = library_of(estimator) or ""
        if y.ndim == 1:
            classes, codes = np.unique(y, return_inverse=True)
            return cls.read(library, X.shape[1], classes.tolist(), [_fit(library, estimator, X, codes)])
        texts = [_fit(library, estimator, X[label >= 0], label[label >= 0]) for label in y.T]
        return cls.read(library, X.shape[1], None, texts)

    def predict(self, X: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return the likeliest class, int64 (N,), or labels with at least one half, (N, labels)."""
        likely = self.predict_proba(X)
        if self.classes_ is None:
            return (likely >= 0.5).astype(np.int64)
        chosen = self.classes_[likely.argmax(axis=1)]
        return np.asarray(chosen, np.int64)

    def predict_proba(self, X: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return probabilities of the learned classes, or of each label, (N, k).

        Raises ValueError for records with another number of values.
        """
        if X.ndim != 2 or X.shape[1] != self.n_features_in_:
            raise ValueError("records have another number of values")
        found = [
            np.full(len(X), model, np.float64) if isinstance(model, int) else model.predict(X)
            for model in self.models
        ]
        if self.classes_ is None:
            return np.stack(found, axis=1)
        (likely,) = found
        return likely if likely.ndim == 2 else np.stack([1 - likely, likely], axis=1)


def _fit(library: str, estimator: Any, X: NDArray[np.float32], y: NDArray[np.int64]) -> str | int:
    """Return the text of a fitted copy of the classifier, or the only value in `y`."""
    from sklearn.base import clone

    if not len(y):
        return 0
    if (y == y[0]).all():
        return int(y[0])
    objective = _OBJECTIVES[library][0 if y.max() == 1 else 1]
    return str(LIBRARIES[library].text_of(clone(estimator).set_params(objective=objective).fit(X, y)))


MAX_FILE_BYTES = 256 << 20
"""Maximum size of a teacher's file."""
_Class = Annotated[int, Field(ge=0, lt=2**31)]


class BoostersFile(FrozenModel):
    """A file: values of a record, the classes (None for labels), and models or a label's only value."""

    features: Annotated[int, Field(ge=1)]
    classes: Annotated[tuple[_Class, ...], Field(min_length=2)] | None
    models: Annotated[tuple[str | Annotated[int, Field(ge=0, le=1)], ...], Field(min_length=1)]


def dumps(model: Boosters) -> bytes:
    """Return models as a file."""
    file = BoostersFile(
        features=model.n_features_in_,
        classes=None if model.classes_ is None else tuple(model.classes_.tolist()),
        models=tuple(each if isinstance(each, int) else each.text for each in model.models),
    )
    return file.model_dump_json().encode()


def loads(library: str, content: bytes, features: int | None) -> Boosters:
    """Return the models of a file, safe to use on records with `features` values.

    Raises:
        DamagedModelError: if it is too large, incomplete, takes other records, or points outside its arrays.
        OstrakaError: `model.invalid` if the library is not installed.
    """
    try:
        # Checked before parsing, which takes several times the memory of the file.
        if len(content) > MAX_FILE_BYTES:
            raise DamagedModelError("it is too large")
        file = BoostersFile.model_validate(json.loads(content))
        one = file.classes is None or (len(file.models) == 1 and isinstance(file.models[0], str))
        if not one or (features is not None and file.features != features):
            raise DamagedModelError("it takes other records")
        return Boosters.read(library, file.features, file.classes, file.models)
    except DamagedModelError:
        raise
    except (ValueError, KeyError, ValidationError, RecursionError, OverflowError, MemoryError) as exc:
        raise DamagedModelError("it is not whole") from exc


def is_of(library: str, model: Any) -> bool:
    """Whether models are this library's."""
    return isinstance(model, Boosters) and model.library == library
