"""Students that are networks: the base of all algorithms, with scikit-learn's conventions."""

import math
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from torch import nn

from ostraka.client.students.dp_sgd.guarantee import DpSgdGuarantee
from ostraka.common.datasets.label_columns import UNKNOWN
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.accuracy import POSITIVE
from ostraka.common.learning.data import Labelled, Standardization
from ostraka.common.learning.device import AUTO
from ostraka.common.learning.early_stopping import evaluate
from ostraka.common.learning.learning import Learning, TrainingHistory
from ostraka.common.learning.networks import Kind, network
from ostraka.common.learning.objective import probabilities
from ostraka.common.learning.shape import Shape
from ostraka.common.learning.training_run import UNWATCHED, TrainingRun


def check_records(
    labelled: Labelled,
    unlabeled: NDArray[np.float32] | None,
    validation: Labelled | None,
    shape: Shape,
    outputs: int,
) -> None:
    """Raise unless the records have this shape and the labels are valid for `outputs` classes or labels.

    `data.shape`, `data.nan`, `data.label_range`.
    """
    parts = [labelled] if validation is None else [labelled, validation]
    for X in [part.X for part in parts] + ([] if unlabeled is None else [unlabeled]):
        _check_features(X, shape)
    for part in parts:
        _check_labels(part, outputs, multi_label=labelled.multi_label)


def other_shape(found: Shape, expected: Shape) -> OstrakaError:
    """Return the error for records of another shape."""
    return OstrakaError(
        ErrorCode.DATA_SHAPE,
        f"Records are of shape {found} and the student's of {expected}: prepare them by the same task.",
    )


def _check_features(X: NDArray[np.float32], shape: Shape) -> None:
    if X.ndim != 2 or X.shape[1] != math.prod(shape):
        raise other_shape(X.shape[1:], shape)
    if not np.isfinite(X).all():
        raise OstrakaError(
            ErrorCode.DATA_NAN, "A record has a value that is not a number: complete it or leave it out."
        )


def _check_labels(part: Labelled, outputs: int, *, multi_label: bool) -> None:
    if part.multi_label != multi_label or (multi_label and part.y.shape[1] != outputs):
        raise OstrakaError(
            ErrorCode.DATA_SHAPE,
            "Validation records have other labels than those that are learned: take both of one task.",
        )
    least, most = (UNKNOWN, 1) if multi_label else (0, outputs - 1)
    if part.y.min(initial=0) < least or part.y.max(initial=0) > most:
        raise OstrakaError(
            ErrorCode.DATA_LABEL_RANGE,
            f"Labels are to be from 0 to {most}: give the task's number of classes.",
        )


Features = NDArray[np.float32]


@dataclass(eq=False, repr=False)
class Neural(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A network that learns from labelled and unlabeled records; each algorithm is a subclass.

    Fields are parameters, as in scikit-learn: nothing is checked before `fit`.

    Attributes:
        classes_: predicted class indices, int64 (classes,); or label indices.
        n_features_in_: number of features of a record.
        multi_label_: whether a record can have any number of labels.
        history_: history of the training.
        guarantee_: the privacy guarantee for the training records; None for all students except `DpSgd`.
    """

    default_learning = Learning()

    shape: Shape | None = None
    """Shape of one record; None: the number of columns of the records."""
    classes: int | None = None
    """Number of classes or labels; None: as in the labelled records."""
    _: KW_ONLY
    network: Kind | str = "auto"
    """"linear", "mlp", "cnn", "auto" for the one that suits the shape, or a factory "module:function" of a
    torch module that the user told this process to import (`factories.import_factory`)."""
    learning: Learning | None = None
    """Number of steps, learning rate and so on; None: the algorithm's defaults."""
    seed: int = 0
    """Seed of initial weights, batches and views."""

    @classmethod
    def defaults(cls, device: str = AUTO) -> Learning:
        """Return the algorithm's default settings of learning on a device."""
        return replace(cls.default_learning, device=device)

    def fit(self, X: Features, y: NDArray[np.int64], unlabeled: Features | None = None) -> Self:
        """Learn with scikit-learn's signature: from records, their labels, and records without labels.

        Args:
            X: prepared features, one row per record, (N, F).
            y: class indices from 0, integers (N,); or 1, 0 or UNKNOWN for every label, (N, k).
            unlabeled: prepared features of records without labels, (M, F).

        Raises:
            OstrakaError: what `learn_from` raises, and `data.label_range` for labels that are not integers.
        """
        features = np.asarray(X, np.float32)
        labels = np.asarray(y)
        if labels.dtype.kind not in "biu":
            raise OstrakaError(
                ErrorCode.DATA_LABEL_RANGE, "Labels are to be class indices: give integers from 0."
            )
        rest = None if unlabeled is None else np.asarray(unlabeled, np.float32)
        return self.learn_from(Labelled(features, labels.astype(np.int64)), rest)

    @abstractmethod
    def learn_from(
        self,
        labelled: Labelled,
        unlabeled: Features | None = None,
        validation: Labelled | None = None,
        run: TrainingRun = UNWATCHED,
    ) -> Self:
        """Learn from labelled records and, if the algorithm does, from unlabeled ones.

        Args:
            labelled: records with labels of at least two classes, or with and without a label.
            unlabeled: prepared features, float32 (M, F).
            validation: own records that are held back to decide when to stop.
            run: progress callback, checkpoint and log of the training.

        Raises:
            OstrakaError: `data.too_few` if all labels are equal, `data.shape` for records of another shape,
                `data.label_range` for a class beyond `classes`, `data.nan` for values that are not numbers,
                and what the training raises. The student is then unchanged.
        """

    def make_network(self, shape: Shape, outputs: int) -> nn.Module:
        """Return this student's untrained network."""
        return network(shape, outputs, self.network, seed=self.seed)

    def take(
        self,
        net: nn.Module,
        scaling: Standardization,
        *,
        multi_label: bool,
        outputs: int,
        history: TrainingHistory,
        guarantee: DpSgdGuarantee | None = None,
    ) -> Self:
        """Make a trained network this student's; it is on the CPU, in evaluation mode."""
        self.net_ = net
        self.scaling_ = scaling
        self.multi_label_ = multi_label
        self.history_ = history
        self.guarantee_ = guarantee
        self.classes_ = np.arange(outputs)
        self.n_features_in_ = len(scaling.mean)
        return self

    def predict_proba(self, X: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """Return probabilities of classes or labels, float64 (N, classes), for prepared features (N, F).

        Raises `data.shape` for records with another number of features.
        """
        check_is_fitted(self)
        X = np.asarray(X, np.float32)
        if X.ndim != 2 or X.shape[1] != self.n_features_in_:
            raise other_shape(X.shape[1:], (self.n_features_in_,))
        if len(X) == 0:
            return np.zeros((0, len(self.classes_)))
        logits = evaluate(self.net_, torch.from_numpy(self.scaling_.apply(X)))
        return probabilities(logits, multi_label=self.multi_label_).double().numpy()

    def predict(self, X: NDArray[np.floating[Any]]) -> NDArray[np.int64]:
        """Return the most probable classes, int64 (N,), or labels, 1 or 0, (N, k)."""
        likely = self.predict_proba(X)
        if self.multi_label_:
            return (likely >= POSITIVE).astype(np.int64)
        return np.asarray(likely.argmax(axis=1), np.int64)

    def score(self, X: NDArray[np.floating[Any]], y: NDArray[np.int64]) -> float:
        """Return the accuracy on prepared features; multi-label, the mean over labels."""
        return float((self.predict(X) == y).mean())

    @property
    def _learning(self) -> Learning:
        """The settings of learning, chosen or default."""
        return self.learning or self.defaults()

    def _outputs(self, labelled: Labelled) -> int:
        if labelled.multi_label:
            return int(labelled.y.shape[1])
        return self.classes or int(labelled.y.max(initial=0)) + 1
