"""Networks of one architecture, evaluated and trained together."""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state


class Stack(Protocol):
    """Networks as one; what one computes depends on its own weights and records alone."""

    def parameters(self) -> list[Tensor]:
        """Return the tensors that an optimizer changes."""
        ...

    def each(self, X: Tensor) -> Tensor:
        """Logits (networks, N, classes) of every network on records of its own, (networks, N, *shape)."""
        ...

    def all(self, X: Tensor) -> Tensor:
        """Logits (networks, N, classes) of every network on the same records (N, *shape)."""
        ...

    def unstack(self) -> None:
        """Give every network its weights back."""
        ...


class Alone:
    """One network as it is."""

    def __init__(self, net: nn.Module) -> None:
        """Take the network, which is trained in place."""
        self._net = net

    def parameters(self) -> list[Tensor]:
        """Return the tensors that an optimizer changes."""
        return list(self._net.parameters())

    def each(self, X: Tensor) -> Tensor:
        """Logits (1, N, classes) on records (1, N, *shape)."""
        return self.all(X[0])

    def all(self, X: Tensor) -> Tensor:
        """Logits (1, N, classes) on records (N, *shape)."""
        logits: Tensor = self._net(X)
        return logits[None]

    def unstack(self) -> None:
        """Nothing: the network has its weights."""


class Mapped:
    """Networks mapped by torch.func over shared weight tensors, whose first axis counts networks."""

    def __init__(self, nets: Sequence[nn.Module]) -> None:
        """Take networks of one architecture; they keep their own weights until `unstack`."""
        self._nets = nets
        self._weights, self._buffers = stack_module_state(list(nets))

    def parameters(self) -> list[Tensor]:
        """Return the tensors that an optimizer changes."""
        return list(self._weights.values())

    def each(self, X: Tensor) -> Tensor:
        """Logits (networks, N, classes) of every network on records of its own, (networks, N, *shape)."""
        return torch.vmap(self._call, in_dims=(0, 0, 0))(self._weights, self._buffers, X)

    def all(self, X: Tensor) -> Tensor:
        """Logits (networks, N, classes) of every network on the same records (N, *shape)."""
        return torch.vmap(self._call, in_dims=(0, 0, None))(self._weights, self._buffers, X)

    def unstack(self) -> None:
        """Give every network its weights back."""
        with torch.no_grad():
            for row, net in enumerate(self._nets):
                for name, weight in net.named_parameters():
                    weight.copy_(self._weights[name][row])

    def _call(self, weights: dict[str, Tensor], buffers: dict[str, Tensor], X: Tensor) -> Tensor:
        logits: Tensor = functional_call(self._nets[0], (weights, buffers), (X,))
        return logits
