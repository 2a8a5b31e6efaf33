"""Every record's own gradient, clipped, and the exact sum of them in whole lattice steps."""

import traceback
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TypeGuard

import structlog
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad
from torch.nn import functional

from ostraka.common.learning.factories import invalid_model
from ostraka.common.learning.networks import RowsAsImages
from ostraka.common.learning.precision import LogitLayer
from ostraka.common.sharing import FRACTION_BITS

Loss = Callable[[Tensor, Tensor], Tensor]
"""The sum of losses of logits (1, N, classes) for y (1, N) or (1, N, labels)."""
STEPS = 2**FRACTION_BITS
"""Steps of the lattice in one radius."""
WITHIN = 1 - 1e-6
"""What a clipped norm is brought to instead of 1, so that rounding cannot take it beyond."""


FAILURES = (Exception, SystemExit)
"""What models of a party's own may raise."""


def tell(failure: BaseException) -> None:
    """Says that a model failed, and by which kind of failure; each kind once in a process."""
    _tell(type(failure).__name__)


@cache
def _tell(problem: str) -> None:
    structlog.get_logger().warning("teacher.failed", problem=problem, adds="nothing")


TOGETHER = 64
"""Records at a time. Up to 128 clipped gradients' sums are whole numbers below 2^24: exact in float32."""
_PLAIN: set[type[nn.Module]] = {nn.Flatten, nn.ReLU, nn.MaxPool2d, nn.AvgPool2d, RowsAsImages}
"""Layers without parameters that take every record by itself."""


def take_each_record(*layers: type[nn.Module]) -> None:
    """Register classes of layers that have no parameters and treat every record separately."""
    _PLAIN.update(layers)


def sum_of_clipped(net: nn.Module, X: Tensor, y: Tensor, radius: float, loss: Loss) -> Tensor:
    """Sum records' gradients in radii, each clipped to one, int64 (d,) in lattice steps.

    Each is rounded towards zero to whole steps before it is added: a record adds a vector of norm at most
    `STEPS`, whatever the other records are, and sums of whole numbers are exact (own derivation:
    docs/accounting.md, Trainings). A gradient that is not a number is 0, and so is that of a record for
    which the network raises.

    Args:
        net: a network of records to logits, its parameters in the order of `parameters()`.
        X: records (N, *shape).
        y: their classes (N,), or labels (N, labels).
        radius: L2 norm that is clipped to, in parameters.
        loss: whose gradients they are.
    """
    total = torch.zeros(sum(part.numel() for part in net.parameters()), dtype=torch.int64, device=X.device)
    for records, labels in zip(torch.split(X, TOGETHER), torch.split(y, TOGETHER), strict=True):
        total += _clip(_of_all(net, records, labels, loss), radius).sum(dim=0).to(torch.int64)
    return total


def gradients(net: nn.Module, X: Tensor, y: Tensor, loss: Loss) -> Tensor:
    """Return the gradient of each record's loss, float32 (N, d), which no other record has a part in."""
    layers = list(_layers(net))
    if _is_chain(layers):
        return _of_chain(layers, X, y, loss)
    return _map_gradients(net, X, y, loss)


def require_gradients(net: nn.Module, X: Tensor, y: Tensor, model: str, loss: Loss) -> None:
    """Raise `model.invalid` unless gradients can be taken of the network at all: at zeros, like X and y."""
    try:
        gradients(net, torch.zeros_like(X[:1]), torch.zeros_like(y[:1]), loss)
    except FAILURES as exc:
        problem = f"has no gradients by record ({type(exc).__name__}); choose --clip party"
        raise invalid_model(model, problem) from exc


def _of_all(net: nn.Module, X: Tensor, y: Tensor, loss: Loss) -> Tensor:
    """Gradients (N, d), 0 for records for which the network raises.

    Those are replaced by zeros, so that the others are computed just as if nothing had failed. Raises what
    the network raises where it fails on zeros alone, too: that is no record's fault.
    """
    try:
        return gradients(net, X, y, loss)
    except FAILURES as exc:
        # They hold memory, which may be what was short.
        traceback.clear_frames(exc.__traceback__)
    gradients(net, torch.zeros_like(X), torch.zeros_like(y), loss)
    failed = torch.tensor([_fails(net, X[row : row + 1], y[row : row + 1], loss) for row in range(len(y))])
    failed = failed.to(X.device)
    each = gradients(net, _without(X, failed), _without(y, failed), loss)
    return _without(each, failed)


def _fails(net: nn.Module, x: Tensor, y: Tensor, loss: Loss) -> bool:
    try:
        gradients(net, x, y, loss)
    except FAILURES as exc:
        tell(exc)
        return True
    return False


def _without(rows: Tensor, failed: Tensor) -> Tensor:
    """Return the same rows, with those that failed all 0."""
    return rows.masked_fill(failed.view(-1, *[1] * (rows.dim() - 1)), 0)


def _clip(each: Tensor, radius: float) -> Tensor:
    """Gradients (N, d) in whole steps of radii, still float32; `each` is used up.

    Where a tiny radius and a tiny gradient make a factor that float32 does not hold, the gradient is 0.
    """
    norms = torch.linalg.vector_norm(each, dim=1, keepdim=True, dtype=torch.float64)
    factors = WITHIN * STEPS * torch.minimum(1 / norms, torch.full_like(norms, 1 / radius))
    factors = factors.to(each.dtype)
    each.mul_(factors).trunc_()
    return each.masked_fill_(~(norms.isfinite() & factors.isfinite()), 0.0)


def _layers(net: nn.Module) -> Iterable[nn.Module]:
    if type(net) is nn.Sequential:
        for part in net:
            yield from _layers(part)
    else:
        yield net


def _is_chain(layers: list[nn.Module]) -> bool:
    """Whether these are layers whose gradients are known, one after the other."""
    return all(_is_plain(layer) or _is_linear(layer) or _is_convolution(layer) for layer in layers)


def _is_plain(layer: nn.Module) -> bool:
    """Whether it passes values on; one that changes them in place would hide what came before it."""
    if getattr(layer, "inplace", False):
        return False
    return type(layer) in _PLAIN or (type(layer) is nn.GroupNorm and not layer.affine)


def _is_linear(layer: nn.Module) -> TypeGuard[nn.Linear]:
    return type(layer) in (nn.Linear, LogitLayer) and layer.bias is not None


def _is_convolution(layer: nn.Module) -> TypeGuard[nn.Conv2d]:
    plain = type(layer) is nn.Conv2d and layer.groups == 1 and layer.bias is not None
    return plain and layer.padding_mode == "zeros" and not isinstance(layer.padding, str)


def _of_chain(layers: list[nn.Module], X: Tensor, y: Tensor, loss: Loss) -> Tensor:
    """Gradients from what goes into each layer and the loss's gradient at what comes out, in one pass."""
    passed: list[tuple[nn.Module, Tensor, Tensor]] = []
    values = X
    for layer in layers:
        before = values
        values = layer(values)
        if next(layer.parameters(), None) is not None:
            passed.append((layer, before.detach(), values))
    wanted = torch.autograd.grad(loss(values[None], y[None]), [after for _, _, after in passed])
    parts: list[Tensor] = []
    for (layer, before, _), slope in zip(passed, wanted, strict=True):
        parts += (
            _of_convolution(layer, before, slope) if _is_convolution(layer) else _of_linear(before, slope)
        )
    return torch.cat(parts, dim=1)


def _of_linear(before: Tensor, slope: Tensor) -> list[Tensor]:
    """Gradients of weight and bias from inputs (N, in) and slopes (N, out)."""
    return [(slope[:, :, None] * before[:, None, :]).flatten(1), slope]


def _of_convolution(layer: nn.Conv2d, before: Tensor, slope: Tensor) -> list[Tensor]:
    """Gradients of weight and bias from images (N, in, ...) and slopes (N, out, ...)."""
    assert not isinstance(layer.padding, str)  # noqa: S101 - `_is_convolution` says so
    places = functional.unfold(before, layer.kernel_size, layer.dilation, layer.padding, layer.stride)
    flat = slope.flatten(2)
    return [torch.bmm(flat, places.transpose(1, 2)).flatten(1), flat.sum(dim=2)]


def _map_gradients(net: nn.Module, X: Tensor, y: Tensor, loss: Loss) -> Tensor:
    """Gradients of any network, which torch.func computes as if each record were a batch of its own."""
    weights = {name: part.detach() for name, part in net.named_parameters()}

    def loss_of(weights: Mapping[str, Tensor], x: Tensor, label: Tensor) -> Tensor:
        logits = functional_call(net, dict(weights), (x[None],))
        return loss(logits[None], label[None, None])

    found = torch.vmap(grad(loss_of), in_dims=(None, 0, 0))(weights, X, y)
    return torch.cat([found[name].flatten(1) for name in weights], dim=1)
