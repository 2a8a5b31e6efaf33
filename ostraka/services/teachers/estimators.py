"""scikit-learn teachers: fitted and evaluated one by one, in files that are never pickles."""

import math
import shutil
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import structlog
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from ostraka.common.datasets.label_columns import UNKNOWN
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.estimators.booster_trees import optional
from ostraka.common.estimators.boosters import Boosters, library_of
from ostraka.common.estimators.fitting import fit_labels, parameters_named, seed_estimator
from ostraka.common.estimators.formats import FORMATS, format_of
from ostraka.common.estimators.skops_files import DamagedModelError, UnknownTypeError
from ostraka.common.learning.factories import invalid_model
from ostraka.services.teachers.assignment import Slice
from ostraka.services.teachers.config import Progress
from ostraka.services.teachers.factory import build
from ostraka.services.teachers.guard import FALLBACK, VoteGuard, Votes
from ostraka.services.teachers.manifest import ALL, TeachersManifest, unreadable


def fit_estimators(
    slices: Sequence[Slice], model: str, classes: int, progress: Progress, *, balanced: bool = False
) -> "Estimators":
    """Fit estimators to flat records, one per slice; an estimator that fails votes for a fixed class.

    If `balanced`, the classes of a slice have equal total weight.

    Raises:
        OstrakaError: `model.invalid` if none can be fitted, or balanced ones do not support class weights.
    """
    fitted: list[Any] = []
    failures: list[Exception] = []
    for part in slices:
        untrained = build(model, part.X.shape[1:], classes)
        if balanced:
            _balance(untrained, model)
        try:
            fitted.append(_fit(untrained, part))
        except Exception as exc:
            failures.append(exc)
            fitted.append(_always(FALLBACK, part))
        progress(len(fitted), len(slices))
    if len(failures) == len(slices):
        problem = f"cannot be trained, or cannot vote on a record of zeros ({type(failures[0]).__name__})"
        raise invalid_model(model, problem) from failures[0]
    if failures:
        structlog.get_logger().warning("teacher.untrained", teachers=len(failures), votes_for=FALLBACK)
    return Estimators(fitted)


def _fit(model: Any, part: Slice) -> Any:
    """Fit the estimator to flat records; every generator in it is seeded by the slice's entropy.

    Raises whatever the estimator raises, also if it cannot vote on a record of zeros; that record later
    distinguishes an unsuitable query from a missing device.
    """
    if part.constant is not None:
        return _always(part.constant, part)
    flat = part.X.reshape(len(part.X), -1)
    seed = int(np.random.SeedSequence(part.entropy).generate_state(1)[0])
    seed_estimator(model, seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Label .* is present in all training examples")
        fitted = _fitting(model, part.y)(flat, part.y)
    zeros = np.zeros_like(flat[:1])
    _ = label_scores(fitted, zeros) if part.y.ndim > 1 else _classes(fitted, zeros)
    return fitted


def _fitting(model: Any, y: NDArray[np.int64]) -> Callable[..., Any]:
    """Return the function that fits a model to classes, to labels, or to partly unknown labels."""
    if library_of(model):
        return partial(Boosters.fit, model)
    if y.ndim == 1:
        return model.fit  # type: ignore[no-any-return]
    return partial(fit_labels, model) if (y == UNKNOWN).any() else for_labels(model).fit


def _balance(estimator: Any, model: str) -> None:
    """Set the class weights so all classes of the fitted records count the same."""
    names = parameters_named(estimator, "class_weight")
    if not names:
        raise invalid_model(model, "takes no class weights, which balanced in [training] asks for")
    estimator.set_params(**dict.fromkeys(names, "balanced"))


def _always(label: int, part: Slice) -> Any:
    """Return a model that votes for one class, or gives this score to every label."""
    known = np.full_like(part.y[:1], label)
    return DummyClassifier(strategy="constant", constant=known[0]).fit(part.X[:1].reshape(1, -1), known)


class Estimators:
    """Fitted estimators that predict class indices, or scores of labels, from flat records (Q, F)."""

    def __init__(self, fitted: Sequence[Any], files: Sequence[Path] = ()) -> None:
        self._fitted = fitted
        self._files = files

    @classmethod
    def join(cls, parts: Sequence["Estimators"]) -> "Estimators":
        """Return the estimators of all parts, one part after the other."""
        fitted = [model for part in parts for model in part._fitted]
        files = [file for part in parts for file in part._files]
        return cls(fitted, files if len(files) == len(fitted) else ())

    def predict(self, X: NDArray[np.float32], guard: VoteGuard, rows: slice = ALL) -> Votes:
        """Return votes (rows, Q), or scores (rows, Q, labels), of these estimators on flat records (Q, F)."""
        read = label_scores if guard.multi_label else _classes
        votes = [
            guard.votes(lambda part, model=model: read(model, part)[None], X, 1)  # type: ignore[misc]
            for model in self._fitted[rows]
        ]
        return np.concatenate(votes)

    def memory_bytes(self) -> int:
        """Return 0: estimators compute on the CPU."""
        return 0

    def unload(self) -> None:
        """Do nothing."""

    def save(self, folder: Path) -> None:
        """Write one file for each estimator; raise `model.invalid` for one that `load` would refuse."""
        save_estimators(self._fitted, self._files, folder)

    @classmethod
    def load(cls, folder: Path, manifest: TeachersManifest) -> "Estimators":
        """Read the estimators; raise `model.invalid` for a damaged file or an untrusted type."""
        return cls(*load_estimators(folder, manifest))


def _classes(model: Any, X: NDArray[np.float32]) -> NDArray[Any]:
    return np.asarray(model.predict(X))


def for_labels(model: Any) -> Any:
    """Return the estimator itself if it supports labels (N, k) of 0/1, else one of its kind per label."""
    tags = get_tags(model)
    takes = tags.target_tags.multi_output or (tags.classifier_tags and tags.classifier_tags.multi_label)
    return model if takes else OneVsRestClassifier(model)


def label_scores(model: Any, X: NDArray[np.float32]) -> NDArray[Any]:
    """Return each label's probability, (Q, k), by an estimator fitted to labels, for records (Q, F).

    scikit-learn returns one array, or one per label with a column for each value in the slice.
    """
    if not hasattr(model, "predict_proba"):
        return np.asarray(model.predict(X))
    found = model.predict_proba(X)
    if not isinstance(found, list):
        return np.asarray(found)
    positive = (part[:, values == 1].sum(axis=1) for part, values in zip(found, model.classes_, strict=True))
    return np.stack(list(positive), axis=1)


def save_estimators(fitted: Sequence[Any], files: Sequence[Path], folder: Path) -> None:
    """Write one file per estimator; raise `model.invalid` for one that `load_estimators` would refuse.

    Estimators that were read from `files` are copied, because writing a forest takes longer than fitting it.
    """
    for row, file in enumerate(files):
        shutil.copyfile(file, folder / (_name(row) + _suffix(file)))
    for row, model in enumerate(() if files else fitted):
        kind = format_of(model)
        path = folder / (_name(row) + kind.suffix)
        try:
            path.write_bytes(kind.dumps(model))
        except UnknownTypeError as exc:
            raise _type_error(path, exc) from exc


def load_estimators(folder: Path, manifest: TeachersManifest) -> tuple[list[Any], list[Path]]:
    """Return the estimators of a folder and their files; raise `model.invalid` for an unsafe one."""
    files = [_file(folder, row) for row in range(manifest.teachers)]
    return [_load(file, math.prod(manifest.shape)) for file in files], files


def _load(path: Path, features: int) -> Any:
    kind = next(kind for kind in FORMATS if path.name.endswith(kind.suffix))
    try:
        return kind.loads(path.read_bytes(), features)
    except UnknownTypeError as exc:
        raise _type_error(path, exc) from exc
    except (OSError, DamagedModelError) as exc:
        raise unreadable(path) from exc


def _file(folder: Path, row: int) -> Path:
    """Return the file of a teacher, in any format."""
    paths = [folder / (_name(row) + kind.suffix) for kind in FORMATS]
    return next((path for path in paths if path.exists()), paths[-1])


def _name(row: int) -> str:
    return f"model-{row:04d}"


def _suffix(file: Path) -> str:
    return next(kind.suffix for kind in FORMATS if file.name.endswith(kind.suffix))


def _type_error(path: Path, error: UnknownTypeError) -> OstrakaError:
    return OstrakaError(
        ErrorCode.MODEL_INVALID,
        f"{path} holds {error}, a type that is not trusted: docs/teachers.md lists the estimators that are.",
    )


TREES = 50
"""Half of scikit-learn's default of 100: a party trains and stores a forest for every teacher."""
MAX_ITERATIONS = 1000
"""More than scikit-learn's default of 100, where its solver does not converge on some slices."""
MIN_IN_LEAF = 3
"""Minimum records in a leaf; LightGBM's default of 20 is a large part of a slice."""


def logistic_regression(shape: tuple[int, ...], classes: int) -> Any:
    """Build multinomial logistic regression on scaled features."""
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=MAX_ITERATIONS))


def random_forest(shape: tuple[int, ...], classes: int) -> Any:
    """Build a random forest of `TREES` trees."""
    return RandomForestClassifier(n_estimators=TREES)


def xgboost(shape: tuple[int, ...], classes: int) -> Any:
    """Build XGBoost's classifier with its default settings."""
    return optional("xgboost").XGBClassifier()


def lightgbm(shape: tuple[int, ...], classes: int) -> Any:
    """Build LightGBM's classifier with its defaults, except for smaller leaves, because slices are small."""
    return optional("lightgbm").LGBMClassifier(min_child_samples=MIN_IN_LEAF, verbose=-1)


BUILDERS: Mapping[str, Callable[[tuple[int, ...], int], Any]] = {
    "logistic_regression": logistic_regression,
    "random_forest": random_forest,
    "xgboost": xgboost,
    "lightgbm": lightgbm,
}
