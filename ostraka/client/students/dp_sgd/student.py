"""The student that learns by DP-SGD, so its model may be published."""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import nn

from ostraka.client.students.dp_sgd.guarantee import DpSgdGuarantee, Noise, calibrate, missing
from ostraka.client.students.neural import Features, Neural, check_records
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.data import Labelled, Standardization
from ostraka.common.learning.device import Device
from ostraka.common.learning.device_failures import device_failures
from ostraka.common.learning.learning import Learning, TrainingHistory
from ostraka.common.learning.networks import network
from ostraka.common.learning.shape import Shape
from ostraka.common.learning.training_run import UNWATCHED, TrainingRun

MIDDLE = 0.5
"""Subtracted from features: public preprocessing maps them onto [0, 1], this and `FACTOR` onto [-1, 1]."""
FACTOR = 2.0
"""Features are multiplied by this; see `MIDDLE`."""
DELTA = 1e-5
"""The usual value, and below one over the number of records for up to 100,000 of them."""
MIN_EPSILON = 0.01
"""With a smaller epsilon nothing can be learned."""
MAX_EPSILON = 1000.0
"""A larger epsilon guarantees nothing."""


@dataclass(eq=False, repr=False, kw_only=True)
class DpSgd(Neural):
    """A network whose training is private for every record that it learns from, own records and the pool's.

    The result depends on records only through clipped and noised sums of gradients: features keep the scale
    of the public preprocessing, unlabeled records are not used, none is held back, and the weights are
    averages up to the last step. The number of records is public. Noise and batches come from the operating
    system's generator, never from a seed.

    `classes` is required, because counting the classes in the labels would reveal records; for multi-label
    tasks it is None. The `network` is logistic regression, or a factory's; its layers must treat each record
    alone, and its initial weights, by `seed`, must not depend on records. `learning` gives the number of
    steps, the expected batch size, rate, averaging and device; its other fields are unused.

    Attributes:
        guarantee_: the privacy guarantee of the training.
    """

    default_learning = Learning(steps=400, batch_size=128, learning_rate=0.03, ema=0.99)

    epsilon: float | None = None
    """Epsilon of the training, required."""
    delta: float = DELTA
    """Delta of the training, below one over the number of records."""
    clip: float = 1.0
    """Norm to which a record's gradient is clipped."""

    def learn_from(
        self,
        labelled: Labelled,
        unlabeled: Features | None = None,
        validation: Labelled | None = None,
        run: TrainingRun = UNWATCHED,
    ) -> Self:
        """Learn from the labelled records alone.

        Raises what every student does, except for labels that are all equal. Raises `config.invalid` for a
        budget that guarantees nothing; for validation records, checkpoints and logs, which the budget would
        not cover; and if Opacus is missing. Raises `model.invalid` for a network that mixes records.
        """
        if validation is not None or run.checkpoint is not None or run.log is not None:
            raise _config(
                "it keeps no checkpoint, writes no log and looks at no validation records, which its epsilon "
                "would not cover; leave them out"
            )
        if self.classes is None and not labelled.multi_label:
            raise _config("it does not count classes, as that would tell of records; give classes")
        shape = self.shape or (labelled.X.shape[1],)
        outputs = self._outputs(labelled)
        epsilon = self._budget(len(labelled))
        check_records(labelled, unlabeled, None, shape, outputs)
        net = self._check_network(shape, outputs)
        noise = self._noise(epsilon, len(labelled))
        scaling = _public_scaling(labelled.X.shape[1])
        from ostraka.client.students.dp_sgd.private_training import train_privately

        with device_failures(Device(self._learning.device)):
            learned = train_privately(
                net,
                torch.from_numpy(scaling.apply(labelled.X)),
                torch.from_numpy(labelled.targets(outputs)),
                noise,
                self.clip,
                self._learning,
                multi_label=labelled.multi_label,
                progress=run.progress,
            )
        return self.take(
            learned,
            scaling,
            multi_label=labelled.multi_label,
            outputs=outputs,
            history=TrainingHistory((), noise.steps),
            guarantee=DpSgdGuarantee.of(noise, epsilon, self.delta, self.clip),
        )

    def make_network(self, shape: Shape, outputs: int) -> nn.Module:
        """Return logistic regression, or the network that was chosen instead."""
        kind = "linear" if self.network == "auto" else self.network
        return network(shape, outputs, kind, seed=self.seed)

    def _budget(self, records: int) -> float:
        """Return the epsilon; raise `config.invalid` unless it and delta guarantee something."""
        if records == 0:
            raise OstrakaError(
                ErrorCode.DATA_TOO_FEW, "There are no labelled records to learn from: label some."
            )
        if self.epsilon is None or not MIN_EPSILON <= self.epsilon <= MAX_EPSILON:
            raise _config(
                f"it needs an epsilon from {MIN_EPSILON:g} to {MAX_EPSILON:g}, not {self.epsilon}; "
                "give one, such as 8"
            )
        if not 0 < self.delta < 1 / records:
            raise _config(
                f"delta {self.delta:g} is not below 1/{records}, one over the number of records, so that it "
                "would allow to tell one of them; give less, such as 1e-5"
            )
        if not 0 < self.clip < math.inf:
            raise _config(f"it clips gradients to a norm above 0, not {self.clip}; give clip, such as 1")
        return self.epsilon

    def _check_network(self, shape: Shape, outputs: int) -> nn.Module:
        """Return the network; raise if it cannot be trained, or Opacus is missing."""
        try:
            from ostraka.client.students.dp_sgd.private_training import check_layers
        except ImportError as exc:
            raise missing() from exc
        net = self.make_network(shape, outputs)
        check_layers(net, math.prod(shape))
        return net

    def _noise(self, epsilon: float, records: int) -> Noise:
        """Return the noise for batches that have the expected size, or all records if there are few."""
        parts = max(1, round(records / self._learning.batch_size))
        return calibrate(epsilon, self.delta, 1 / parts, self._learning.steps)


def _public_scaling(features: int) -> Standardization:
    """Return the same scaling for any records."""
    mean, factor = (np.full(features, value, np.float32) for value in (MIDDLE, FACTOR))
    return Standardization(mean, factor)


def _config(problem: str) -> OstrakaError:
    return OstrakaError(ErrorCode.CONFIG_INVALID, f"The student dp-sgd: {problem}.")
