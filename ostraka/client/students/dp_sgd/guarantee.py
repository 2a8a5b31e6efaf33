"""What a training by DP-SGD promises."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from ostraka.client.students.dp_sgd.calibration import GRID, Noise
from ostraka.common.console.texts import number_text

_DIGITS = 10_000
"""Parts of an epsilon to which it is rounded up."""


@dataclass(frozen=True)
class DpSgdGuarantee:
    """(epsilon, delta)-differential privacy of a network for every record that it learned from.

    Neighbours differ in one record, its features and its labels, that is there or left empty; how many
    records there are is known.

    Attributes:
        epsilon: of the whole training, an upper bound.
        delta: what the epsilon is given at.
        noise_multiplier: deviation of the noise, in clipping norms.
        sampling_rate: probability of each record to be in a batch.
        steps: how many batches there were.
        clip: norm to which a record's gradient was clipped.
    """

    epsilon: float
    delta: float
    noise_multiplier: float
    sampling_rate: float
    steps: int
    clip: float

    @classmethod
    def of(cls, noise: Noise, epsilon: float, delta: float, clip: float) -> Self:
        """Return what noise that was calibrated to `epsilon` promises: less if that holds when rounded up."""
        spent = noise.epsilon(delta, grid=GRID * epsilon)
        rounded = math.ceil(_DIGITS * spent) / _DIGITS
        return cls(
            epsilon if spent <= epsilon < rounded else rounded,
            delta,
            noise.multiplier,
            noise.rate,
            noise.steps,
            clip,
        )


def dp_sgd_words(guarantee: Mapping[str, Any]) -> str:
    """Return the guarantee of a saved student, given by its fields, and what it does not cover."""
    return (
        f"The saved student is DP for each record that it learned from, own and of the pool: epsilon "
        f"{guarantee['epsilon']:g} at delta {number_text(guarantee['delta'])}, for one record that is there "
        "or left empty. The metrics are not covered, nor is any other student of these records: each spends "
        "anew."
    )
