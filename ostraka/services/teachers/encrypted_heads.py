"""A party's networks as affine maps with squares between them, for encrypted queries."""

from collections.abc import Iterator, Sequence
from copy import deepcopy

import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ostraka.common.crypto.heads import WEIGHT_BITS, Affine, EncryptedHead
from ostraka.common.crypto.linear.products import expand
from ostraka.common.crypto.logits import LOGIT_RANGE
from ostraka.services.teachers.ensemble import Ensemble
from ostraka.services.teachers.guard import FALLBACK
from ostraka.services.teachers.nets import Networks
from ostraka.services.teachers.networks import AsImages, Scaler, Square

AFFINE = (Scaler, nn.Flatten, AsImages, nn.Linear, nn.Conv2d, nn.AvgPool2d)
"""Modules whose output is an affine map of their input."""
DUST = 1e-12
"""Weights below this fraction of the largest are rounding errors of zero."""
MAX_WEIGHT = 2.0 ** (WEIGHT_BITS - 1)
"""Maximum weight of a head: half of the evaluation's limit, so rounding stays below it."""


def heads_of(ensemble: Ensemble) -> tuple[EncryptedHead, ...]:
    """Return the heads of all teachers of an ensemble that has a `head`, in order.

    They give the logits behind the votes of `Ensemble.predict`. A teacher that always votes for one class, or
    whose weights are not finite, gets a head with constant logits. All heads say no to labels that they
    abstain from. Heads `square` take the `products` of a query's features.
    """
    models = ensemble.models
    assert isinstance(models, Networks)  # noqa: S101 - training gives heads to networks alone
    heads = [_head(ensemble, teacher, net) for teacher, net in enumerate(models.nets)]
    if ensemble.manifest.head == "square":
        heads = [EncryptedHead(tuple(_limit(expand(head).layers))) for head in heads]
    return tuple(_abstaining(head, ensemble.manifest.abstains) for head in heads)


def head_of(
    net: nn.Module, shape: tuple[int, ...], shift: NDArray[np.float64] | float = 0.0
) -> EncryptedHead:
    """Convert a network of records (Q, *shape), of `AFFINE` modules and `Square`, to a head of flat records.

    `shift`, (classes,), is subtracted from its logits. If the shift or the weights are too large for
    evaluation, the logits are scaled by a positive factor, which changes no vote. Raises ValueError for other
    modules, and for weights that are not finite.
    """
    layers = []
    records = torch.zeros(1, *shape, dtype=torch.float64)
    with torch.no_grad():
        for steps in _between_squares(deepcopy(net).cpu().double()):
            layer, records = _affine(nn.Sequential(*steps), records)
            layers.append(layer)
    *first, last = layers
    return EncryptedHead(tuple(_limit([*first, _shift(last, shift)])))


def _head(ensemble: Ensemble, teacher: int, net: nn.Module) -> EncryptedHead:
    manifest = ensemble.manifest
    thresholds = ensemble.thresholds
    finite = all(bool(values.isfinite().all()) for values in net.state_dict().values())
    if teacher not in manifest.constants and finite:
        return head_of(net, manifest.shape, 0.0 if thresholds is None else thresholds.logits(teacher))
    logits = np.full(manifest.classes, -LOGIT_RANGE / 2)
    if not manifest.multi_label:
        logits[manifest.constants.get(teacher, FALLBACK)] = LOGIT_RANGE / 2
    return _always(logits, net, manifest.shape)


def _abstaining(head: EncryptedHead, labels: Sequence[int]) -> EncryptedHead:
    """Return the same head, with logits that always say no to these labels; evaluation takes equally long."""
    *first, last = head.layers
    votes = np.ones(last.outputs)
    weights = last.weights.copy()
    votes[list(labels)] = 0.0
    weights.data *= np.repeat(votes, np.diff(weights.indptr))
    return EncryptedHead((*first, Affine(weights, np.where(votes > 0, last.bias, -LOGIT_RANGE / 2))))


def _always(logits: NDArray[np.float64], net: nn.Module, shape: tuple[int, ...]) -> EncryptedHead:
    """Return a head with constant logits and the network's size, so evaluation takes equally long."""
    whole = deepcopy(net)
    for values in whole.state_dict().values():
        values.nan_to_num_(0.0, 0.0, 0.0)
    *first, last = head_of(whole, shape).layers
    return EncryptedHead((*first, Affine(last.weights * 0.0, logits)))


def _shift(last: Affine, shift: NDArray[np.float64] | float) -> Affine:
    """Subtract `shift` from the logits of the last map, and keep them within LOGIT_RANGE."""
    factor = LOGIT_RANGE / (LOGIT_RANGE + np.abs(shift).max())
    return Affine(last.weights * factor, (last.bias - shift) * factor)


def _limit(layers: Sequence[Affine]) -> Iterator[Affine]:
    """Yield the same maps, each times a positive factor, with no weight above MAX_WEIGHT.

    One record can make a weight large, for example if a column is constant except for it. If the party
    refused to answer because of that, everybody would learn about the record without any charge.
    """
    scale = 1.0
    for layer in layers:
        bias = layer.bias * scale
        largest = max(np.abs(layer.weights.data).max(initial=0.0), np.abs(bias).max())
        factor = MAX_WEIGHT / max(largest, MAX_WEIGHT)
        yield Affine(layer.weights * factor, bias * factor)
        scale = (scale * factor) ** 2


def _between_squares(net: nn.Module) -> Iterator[Sequence[nn.Module]]:
    """Yield the network's modules in order, a list for each affine map."""
    steps: list[nn.Module] = []
    for module in net.modules():
        if isinstance(module, Square):
            yield steps
            steps = []
        elif isinstance(module, AFFINE):
            steps.append(module)
        elif not isinstance(module, nn.Sequential):
            raise ValueError(f"{type(module).__name__} is not evaluated on encrypted queries")
    yield steps


def _affine(steps: nn.Module, records: Tensor) -> tuple[Affine, Tensor]:
    """Compute the modules' map on values like `records`, from their outputs for zero and all unit vectors."""
    inputs = records[0].numel()
    bias = steps(torch.zeros_like(records))
    units = steps(torch.eye(inputs, dtype=torch.float64).reshape(inputs, *records.shape[1:]))
    weights = (units - bias).flatten(1).numpy().T
    weights[np.abs(weights) <= DUST * np.abs(weights).max()] = 0.0
    return Affine(scipy.sparse.csr_array(weights), bias.flatten().numpy()), bias
