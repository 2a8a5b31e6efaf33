"""Sums of records' clipped gradients at a public network."""

from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import vector_to_parameters

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.networks import network
from ostraka.common.learning.record_gradients import sum_of_clipped
from ostraka.common.sums.questions import NetworkQuestion, Rows, Target


def sum_network_gradients(question: NetworkQuestion, rows: Rows) -> NDArray[np.int64]:
    """Return the sum of all records' gradients in radii, int64 (p,) in steps of 2^-16.

    Each gradient is clipped to norm 1 and rounded towards zero first, so that whole numbers are added. Raises
    `plan.invalid` if the network's number of parameters differs from the question's.
    """
    net = restore_network(question)
    X = torch.from_numpy(np.ascontiguousarray(rows.X, np.float32))
    loss = partial(target_loss, question.target)
    total = sum_of_clipped(net, X, labels_of(question.target, rows.y), question.radius, loss)
    steps: NDArray[np.int64] = total.numpy()
    return steps


def restore_network(question: NetworkQuestion) -> nn.Module:
    """Return the network of a question with its parameters; raises as `sum_network_gradients`."""
    net = network(question.shape, question.target.outputs, question.network)
    parameters = sum(part.numel() for part in net.parameters())
    if parameters != len(question.parameters):
        raise OstrakaError(
            ErrorCode.PLAN_INVALID,
            f"The plan is invalid: a network {question.network} of such records has {parameters} parameters"
            f" and the question {len(question.parameters)}; use the same version everywhere.",
        )
    vector_to_parameters(torch.from_numpy(question.parameters.copy()), net.parameters())
    return net


def labels_of(target: Target, y: NDArray[np.number]) -> Tensor:
    """Return the targets of a loss: classes int64 (n,), else float32 (n, outputs)."""
    if target.loss == "softmax":
        return torch.from_numpy(y.astype(np.int64))
    wanted = y.reshape(len(y), target.outputs)
    if target.loss == "squared":
        wanted = (wanted - target.center) / target.scale
    return torch.from_numpy(wanted.astype(np.float32))


def target_loss(target: Target, scores: Tensor, wanted: Tensor) -> Tensor:
    """Return the sum of losses of scores (..., outputs) for targets of `labels_of` (..., or ..., outputs)."""
    if target.loss == "softmax":
        return functional.cross_entropy(scores.flatten(0, -2), wanted.flatten(), reduction="sum")
    if target.loss == "logistic":
        # An unknown label is below 0.
        known = (wanted >= 0).to(scores.dtype)
        return functional.binary_cross_entropy_with_logits(
            scores, wanted.clamp(min=0), known, reduction="sum"
        )
    return functional.mse_loss(scores, wanted, reduction="sum") / 2
