"""Networks of one architecture evaluated together."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state

STACKABLE_ON_CPU = ("logistic", "mlp", "square-mlp")
STACKABLE = (*STACKABLE_ON_CPU, "cnn", "square-cnn")


def best_device() -> torch.device:
    """A GPU where there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def pays(model: str, device: torch.device) -> bool:
    """Whether stacked weights are faster for this model: matrix products anywhere, convolutions on a GPU."""
    return model in (STACKABLE if device.type == "cuda" else STACKABLE_ON_CPU)


class Stack:
    """Networks with shared weight tensors, their first axis counting networks; alone, one as it is."""

    def __init__(self, nets: Sequence[nn.Module]) -> None:
        """Takes networks of one architecture; they keep their own weights until `unstack`."""
        self._nets = nets
        self._alone = len(nets) == 1
        if not self._alone:
            self._weights, self._buffers = stack_module_state(list(nets))

    def parameters(self) -> list[Tensor]:
        """What an optimizer changes."""
        return list(self._nets[0].parameters()) if self._alone else list(self._weights.values())

    def each(self, X: Tensor) -> Tensor:
        """Logits (networks, N, classes) of every network on records of its own, (networks, N, *shape)."""
        if self._alone:
            return self._nets[0](X[0])[None]  # type: ignore[no-any-return]
        return torch.vmap(self._call, in_dims=(0, 0, 0))(self._weights, self._buffers, X)

    def all(self, X: Tensor) -> Tensor:
        """Logits (networks, N, classes) of every network on the same records (N, *shape)."""
        if self._alone:
            return self._nets[0](X)[None]  # type: ignore[no-any-return]
        return torch.vmap(self._call, in_dims=(0, 0, None))(self._weights, self._buffers, X)

    def unstack(self) -> None:
        """Gives every network its weights back."""
        if self._alone:
            return
        with torch.no_grad():
            for row, net in enumerate(self._nets):
                for name, weight in net.named_parameters():
                    weight.copy_(self._weights[name][row])

    def _call(self, weights: dict[str, Tensor], buffers: dict[str, Tensor], X: Tensor) -> Tensor:
        logits: Tensor = functional_call(self._nets[0], (weights, buffers), (X,))
        return logits
