"""Networks as vectors of all their parameters, which averages are made of."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from ostraka.common.learning.factories import invalid_model
from ostraka.services.teachers.fitting import compose

Vector = NDArray[np.float32]


def first(model: str, shape: tuple[int, ...], classes: int, seed: int) -> nn.Module:
    """Return a network whose first weights depend on the seed alone; its scaler changes nothing.

    Raises:
        OstrakaError: `model.invalid` where the model cannot be built, or has state beside its parameters.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(np.random.SeedSequence(seed).generate_state(1)[0]))
        net = compose(model, shape, classes)
    if next(net.get_submodule("1").buffers(), None) is not None:
        raise invalid_model(model, "keeps more than parameters, which teachers cannot learn together")
    return net


def vector(net: nn.Module) -> Vector:
    """All parameters of a network (d,), in the order of `parameters()`."""
    flat: Vector = parameters_to_vector(net.parameters()).detach().cpu().numpy()
    return flat


def set_vector(net: nn.Module, theta: Vector) -> None:
    """Set a network's parameters to these (d,)."""
    device = next(net.parameters()).device
    vector_to_parameters(torch.from_numpy(theta.copy()).to(device), net.parameters())


@torch.no_grad()
def move(net: nn.Module, by: Tensor) -> None:
    """Add a vector (d,) to all parameters."""
    vector_to_parameters(parameters_to_vector(net.parameters()) + by, net.parameters())
