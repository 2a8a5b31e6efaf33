"""Logits brought into the range that encrypted evaluation can carry, at no vote's cost."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ostraka.common.crypto.logits import LOGIT_RANGE

MICRO_BATCH = 4096


def bound_logits(net: nn.Module, X: NDArray[np.float32], *, multi_label: bool) -> None:
    """Scales the last layer of a trained network so that its logits on its own records X stay in range.

    A positive factor, and for one class a query the mean over classes taken off all of them, change no vote.
    Own records alone decide the factor, so that a record still moves no teacher but its own. A network whose
    logits are no numbers, or all zero, stays as it is.
    """
    last = list(net.modules())[-1]
    assert isinstance(last, nn.Linear)  # noqa: S101 - every network with a head ends so
    with torch.no_grad():
        if not multi_label:
            last.weight.sub_(last.weight.mean(dim=0))
            last.bias.sub_(last.bias.mean())
        peak = max(float(net(part).abs().max()) for part in torch.split(torch.from_numpy(X), MICRO_BATCH))
        if 0 < peak < float("inf"):
            last.weight.mul_(LOGIT_RANGE / peak)
            last.bias.mul_(LOGIT_RANGE / peak)
