"""Every record's own clipped gradient, and their exact sum in whole lattice steps."""

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
"""Number of lattice steps in one radius."""
WITHIN = 1 - 1e-6
"""Target norm of clipping, used instead of 1, so that rounding cannot exceed 1."""


FAILURES = (Exception, SystemExit)
"""Exceptions that a party's own models may raise."""


def tell(failure: BaseException) -> None:
    """Log that a model failed, with the type of failure; each type once per process."""
    _tell(type(failure).__name__)


@cache
def _tell(problem: str) -> None:
    structlog.get_logger().warning("teacher.failed", problem=problem, adds="nothing")


TOGETHER = 64
"""Number of records at a time. Sums of up to 128 clipped gradients stay below 2^24: exact in float32."""
_PLAIN: set[type[nn.Module]] = {nn.Flatten, nn.ReLU, nn.MaxPool2d, nn.AvgPool2d, RowsAsImages}
"""Layers without parameters that treat every record separately."""


def take_each_record(*layers: type[nn.Module]) -> None:
    """Register classes of layers that have no parameters and treat every record separately."""
    _PLAIN.update(layers)


def sum_of_clipped(net: nn.Module, X: Tensor, y: Tensor, radius: float, loss: Loss) -> Tensor:
    """Sum records' gradients in radii, each clipped to one, int64 (d,) in lattice steps.

    Each gradient is rounded towards zero to whole steps before it is added. So a record adds a vector of norm
    at most `STEPS`, whatever the other records are, and sums of whole numbers are exact (own derivation:
    docs/accounting.md, Trainings). A gradient that is not a number becomes 0, and so does that of a record
    for which the network raises.

    Args:
        net: a network of records to logits, with its parameters in the order of `parameters()`.
        X: records (N, *shape).
        y: their classes (N,), or labels (N, labels).
        radius: L2 norm to which gradients are clipped, in parameters.
        loss: the loss.
    """
    total = torch.zeros(sum(part.numel() for part in net.parameters()), dtype=torch.int64, device=X.device)
    for records, labels in zip(torch.split(X, TOGETHER), torch.split(y, TOGETHER), strict=True):
        total += _clip(_of_all(net, records, labels, loss), radius).sum(dim=0).to(torch.int64)
    return total


def gradients(net: nn.Module, X: Tensor, y: Tensor, loss: Loss) -> Tensor:
    """Return the gradient of each record's loss, float32 (N, d); no other record affects it."""
    layers = list(_layers(net))
    if _is_chain(layers):
        return _of_chain(layers, X, y, loss)
    return _map_gradients(net, X, y, loss)


def require_gradients(net: nn.Module, X: Tensor, y: Tensor, model: str, loss: Loss) -> None:
    """Raise `model.invalid` unless gradients of the network exist: at zeros with the shapes of X and y."""
    try:
        gradients(net, torch.zeros_like(X[:1]), torch.zeros_like(y[:1]), loss)
    except FAILURES as exc:
        problem = f"has no gradients by record ({type(exc).__name__}); choose --clip party"
        raise invalid_model(model, problem) from exc


def _of_all(net: nn.Module, X: Tensor, y: Tensor, loss: Loss) -> Tensor:
    """Return gradients (N, d), 0 for records for which the network raises.

    Those records are replaced by zeros, so that the others are computed as if nothing had failed. If the
    network also fails on zeros, its error is raised, because then no record causes it.
    """
    try:
        return gradients(net, X, y, loss)
    except FAILURES as exc:
        # The frames hold memory, which may be what was short.
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
    """Return the same rows, with the failed ones set to 0."""
    return rows.masked_fill(failed.view(-1, *[1] * (rows.dim() - 1)), 0)


def _clip(each: Tensor, radius: float) -> Tensor:
    """Return gradients (N, d) in whole steps of radii, still float32; overwrites `each`.

    If a tiny radius and a tiny gradient give a factor that float32 cannot represent, the gradient becomes 0.
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
    """Whether these layers all have known gradients, one after the other."""
    return all(_is_plain(layer) or _is_linear(layer) or _is_convolution(layer) for layer in layers)


def _is_plain(layer: nn.Module) -> bool:
    """Whether it only passes values on; a layer that changes them in place would hide its input."""
    if getattr(layer, "inplace", False):
        return False
    return type(layer) in _PLAIN or (type(layer) is nn.GroupNorm and not layer.affine)


def _is_linear(layer: nn.Module) -> TypeGuard[nn.Linear]:
    return type(layer) in (nn.Linear, LogitLayer) and layer.bias is not None


def _is_convolution(layer: nn.Module) -> TypeGuard[nn.Conv2d]:
    plain = type(layer) is nn.Conv2d and layer.groups == 1 and layer.bias is not None
    return plain and layer.padding_mode == "zeros" and not isinstance(layer.padding, str)


def _of_chain(layers: list[nn.Module], X: Tensor, y: Tensor, loss: Loss) -> Tensor:
    """Return gradients from the input of each layer and the loss's gradient at its output, in one pass."""
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
    """Return gradients of weight and bias from inputs (N, in) and slopes (N, out)."""
    return [(slope[:, :, None] * before[:, None, :]).flatten(1), slope]


def _of_convolution(layer: nn.Conv2d, before: Tensor, slope: Tensor) -> list[Tensor]:
    """Return gradients of weight and bias from images (N, in, ...) and slopes (N, out, ...)."""
    assert not isinstance(layer.padding, str)  # noqa: S101 - `_is_convolution` says so
    places = functional.unfold(before, layer.kernel_size, layer.dilation, layer.padding, layer.stride)
    flat = slope.flatten(2)
    return [torch.bmm(flat, places.transpose(1, 2)).flatten(1), flat.sum(dim=2)]


def _map_gradients(net: nn.Module, X: Tensor, y: Tensor, loss: Loss) -> Tensor:
    """Return gradients of any network, computed by torch.func as if each record were a separate batch."""
    weights = {name: part.detach() for name, part in net.named_parameters()}

    def loss_of(weights: Mapping[str, Tensor], x: Tensor, label: Tensor) -> Tensor:
        logits = functional_call(net, dict(weights), (x[None],))
        return loss(logits[None], label[None, None])

    found = torch.vmap(grad(loss_of), in_dims=(None, 0, 0))(weights, X, y)
    return torch.cat([found[name].flatten(1) for name in weights], dim=1)
