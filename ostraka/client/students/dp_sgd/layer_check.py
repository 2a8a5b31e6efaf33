"""Networks that DP-SGD can train: the gradient of every record is its own."""

import copy

import torch
from opacus import GradSampleModule
from opacus.validators import ModuleValidator
from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.factories import words_of

_RECORDS = 3
_TOLERANCE = 1e-3


def check_layers(net: nn.Module, features: int) -> None:
    """Raise `model.invalid`, naming the layer if one is to blame, unless records' gradients can be clipped.

    Opacus knows some layers that mix records. Beyond these, the gradients that it finds for three records
    at once must be those of each alone, and the network must keep nothing of what it sees but its weights.
    """
    for name, layer in net.named_modules():
        validator = ModuleValidator.VALIDATORS.get(type(layer))
        if validator is not None and validator(layer):
            raise _refused(f"its layer {name or type(layer).__name__} is a {type(layer).__name__}")
    if not any(p.requires_grad for p in net.parameters()):
        raise _refused("it has no weights to train")
    tried = _without_chance(net)
    before = {name: value.clone() for name, value in tried.named_buffers()}
    try:
        _together(copy.deepcopy(net).cpu().train(), features)
        own, together = _alone(tried, features), _together(copy.deepcopy(tried), features)
    except OstrakaError:
        raise
    except Exception as exc:
        raise _refused(f"Opacus finds no gradients of its records ({words_of(exc)})") from exc
    for name, gradients in own.items():
        if name not in together or not torch.allclose(gradients, together[name], rtol=_TOLERANCE, atol=1e-5):
            raise _refused(f"the gradient of its {name} is of several records, or differs from time to time")
    if kept := [name for name, value in tried.named_buffers() if not torch.equal(value, before[name])]:
        raise _refused(f"its {kept[0]} keeps something of the records")


def _without_chance(net: nn.Module) -> nn.Module:
    """Return a copy on the CPU whose dropout layers drop nothing."""
    tried = copy.deepcopy(net).cpu().train()
    for layer in tried.modules():
        if isinstance(layer, _DropoutNd):
            layer.p = 0.0
    return tried


def _alone(net: nn.Module, features: int) -> dict[str, Tensor]:
    """Return the gradients of each record by itself, (records, ...), by name of the weight."""
    weights = {name: p for name, p in net.named_parameters() if p.requires_grad}
    each = [
        torch.autograd.grad(_loss(net, row[None]), list(weights.values()), allow_unused=True)
        for row in _waves(features)
    ]
    found = {}
    for name, gradients in zip(weights, zip(*each, strict=True), strict=True):
        if any(one is None for one in gradients):
            raise _refused(f"its {name} has no part in what it says")
        found[name] = torch.stack(gradients)
    return found


def _together(net: nn.Module, features: int) -> dict[str, Tensor]:
    """Return the same as Opacus finds them for all records at once."""
    by_record = GradSampleModule(net, loss_reduction="sum")
    _loss(by_record, _waves(features).requires_grad_()).backward()  # type: ignore[no-untyped-call]
    return {name: vars(p)["grad_sample"] for name, p in net.named_parameters() if p.requires_grad}


def _loss(net: nn.Module, X: Tensor) -> Tensor:
    """Return a sum over records that depends on every logit, wherever weights begin."""
    logits: Tensor = net(X)
    return (logits.square() / 2 + logits * torch.arange(1, logits.shape[1] + 1)).sum()


def _waves(features: int) -> Tensor:
    """Return records that differ, and are the same every time, (records, features)."""
    return torch.linspace(-9.0, 9.0, _RECORDS * features).sin().view(_RECORDS, features)


def _refused(why: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.MODEL_INVALID,
        f"The network cannot be trained by DP-SGD, as {why}: take the network that the student makes by "
        "itself, or one whose layers treat each record by itself, such as with GroupNorm for BatchNorm.",
    )
