"""Decision thresholds of teachers for each label (Dziedzic et al. 2023, section I.10)."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ostraka.common.datasets.label_columns import UNKNOWN
from ostraka.common.sharing.ballots import YES
from ostraka.services.teachers.config import Tuning
from ostraka.services.teachers.guard import Votes
from ostraka.services.teachers.manifest import ALL, unreadable

FILE = "thresholds.safetensors"
MIN_THRESHOLD = 0.01
"""Minimum distance of thresholds from 0 and 1, so shifted logits stay in range."""
_NAME = "thresholds"
_DIGITS = 9
"""Decimals in comparisons of balanced accuracies: smaller differences are rounding errors."""


@dataclass(frozen=True)
class Thresholds:
    """Every teacher's threshold for every label.

    Attributes:
        values: float64, shape (teachers, labels), from `MIN_THRESHOLD` to 1 - `MIN_THRESHOLD`.
    """

    values: NDArray[np.float64] = field(repr=False)

    def shift(self, scores: Votes, rows: slice = ALL) -> Votes:
        """Shift scores (rows, Q, labels) so each teacher's threshold becomes one half.

        Logits are shifted by those of the thresholds: the order is kept, and 0 and 1 do not change.
        """
        threshold = self.values[rows][:, None]
        yes = scores * (1 - threshold)
        no = threshold * (1 - scores)
        shifted: Votes = (yes / (yes + no)).astype(scores.dtype)
        return shifted

    def logits(self, teacher: int) -> NDArray[np.float64]:
        """Return the shift of a teacher's logits, (labels,), which `shift` subtracts."""
        shift: NDArray[np.float64] = np.log(self.values[teacher]) - np.log1p(-self.values[teacher])
        return shift

    def save(self, folder: Path) -> None:
        """Write the thresholds next to the models."""
        from safetensors.numpy import save_file

        save_file({_NAME: self.values}, folder / FILE)

    @classmethod
    def load(cls, folder: Path, teachers: int, labels: int) -> "Thresholds":
        """Read what `save` wrote; raise `model.invalid` if it is damaged or of other teachers."""
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        path = folder / FILE
        try:
            values = load_file(path)[_NAME]
        except (OSError, SafetensorError, KeyError) as exc:
            raise unreadable(path) from exc
        in_range = values.shape == (teachers, labels) and bool(
            ((values >= MIN_THRESHOLD) & (values <= 1 - MIN_THRESHOLD)).all()
        )
        if values.dtype != np.float64 or not in_range:
            raise unreadable(path)
        return cls(values)


def tune_teacher(kind: Tuning, scores: NDArray[np.floating], y: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the thresholds (labels,) with the best balanced accuracy of one teacher's scores (N, labels).

    "global" chooses one for all labels by the mean of their balanced accuracies, "per_label" one for each.
    The result is optimal between `MIN_THRESHOLD` and 1 - `MIN_THRESHOLD`; among equally good thresholds it is
    the one nearest to one half. One half is kept if y (N, labels) does not determine a threshold: for a label
    that all or none of the records have, and for records that the teacher has memorized.
    """
    ones, zeros = ((y == value).sum(axis=0) for value in (1, 0))
    told = (ones > 0) & (zeros > 0)
    # A threshold above a record's score turns its yes into a no: a loss if it has the label, else a gain.
    gains = np.where(y == 1, -1 / np.maximum(ones, 1), 1 / np.maximum(zeros, 1)) * (y != UNKNOWN)
    best = np.full(len(ones), YES)
    alone = [[int(label)] for label in np.flatnonzero(told)]
    for labels in [told] if kind == "global" else alone:
        best[labels] = _cut(scores[:, labels].ravel().astype(np.float64), gains[:, labels].ravel())
    return best


def _cut(scores: NDArray[np.float64], gains: NDArray[np.float64]) -> float:
    """Return the threshold (between two scores, one half or a bound) with the largest total gain below it."""
    order = np.argsort(scores)
    ordered = scores[order]
    between = (ordered[:-1] + ordered[1:]) / 2
    cuts = np.concatenate(
        [
            between[(between > MIN_THRESHOLD) & (between < 1 - MIN_THRESHOLD)],
            [MIN_THRESHOLD, YES, 1 - MIN_THRESHOLD],
        ]
    )
    below = np.append(0.0, gains[order].cumsum())
    quality = below[np.searchsorted(ordered, cuts)].round(_DIGITS)
    good = cuts[quality == quality.max()]
    return float(good[np.abs(good - YES).argmin()])
