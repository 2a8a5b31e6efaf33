"""Public networks that turn records into features, run by whoever holds the records in the clear."""

import hashlib
import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError

if TYPE_CHECKING:
    from torch import Tensor, nn

MICRO_BATCH = 256
"""Records encoded at a time."""


class Encoder:
    """A network in evaluation mode, and the digest of its weights; one thread at a time asks it.

    Attributes:
        name: its factory, "module:function".
        sha256: over its weights and buffers; sites whose digests agree encode alike.
    """

    def __init__(self, name: str, network: "nn.Module") -> None:
        """Take a network from prepared records (n, F) float32 to features (n, F')."""
        self.name = name
        self._network = network.eval()
        self.sha256 = _digest(network.state_dict())

    def encode(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        """Features (n, F') float32 of records (n, F), as `Task.prepare` gives them.

        Raises `model.invalid` where the network does not take such records, or gives no finite features.
        """
        import torch

        with torch.inference_mode():
            parts = [self._part(part) for part in torch.split(torch.from_numpy(X), MICRO_BATCH)]
        features = np.concatenate(parts)
        if not np.isfinite(features).all():
            raise _invalid(self.name, "gives features that are no numbers")
        return features

    def width(self, columns: int) -> int:
        """How many features a record of so many columns has; raises `model.invalid` as `encode` does."""
        width: int = self.encode(np.zeros((1, columns), np.float32)).shape[1]
        return width

    def _part(self, records: "Tensor") -> NDArray[np.float32]:
        try:
            found: NDArray[np.float32] = self._network(records).numpy().astype(np.float32)
        except Exception as exc:
            raise _invalid(self.name, f"cannot take prepared records ({type(exc).__name__})") from exc
        if found.ndim != 2 or len(found) != len(records):
            raise _invalid(self.name, f"gives shape {found.shape[1:]} for a record, not one row of features")
        return found


def load_encoder(name: str) -> Encoder:
    """Load the encoder of a factory "module:function", which takes nothing and returns a torch module.

    Raises `model.invalid` where the module cannot be imported, or the factory is missing, fails, or gives
    something else, or a network whose features of one record depend on others.
    """
    from torch import nn

    module, _, function = name.partition(":")
    try:
        network = getattr(importlib.import_module(module), function)()
        encoder = Encoder(name, network) if isinstance(network, nn.Module) else None
    except Exception as exc:
        raise _invalid(name, f"cannot be made ({type(exc).__name__})") from exc
    if encoder is None:
        raise _invalid(name, "gives no torch module")
    if any(map(_takes_batch_statistics, network.modules())):
        raise _invalid(name, "takes statistics of the records that are encoded together")
    return encoder


def _takes_batch_statistics(layer: "nn.Module") -> bool:
    """Whether a record's features would say something of other records, also in evaluation mode."""
    from torch.nn.modules.batchnorm import _BatchNorm

    return isinstance(layer, _BatchNorm) and layer.running_mean is None


def _digest(weights: Mapping[str, "Tensor"]) -> bytes:
    """SHA-256 over name, type, shape and little-endian bytes of every tensor, by name."""
    digest = hashlib.sha256()
    for name in sorted(weights):
        values = weights[name].cpu().contiguous().numpy()
        digest.update(f"{name}\n{values.dtype.name}\n{values.shape}\n".encode())
        digest.update(values.astype(values.dtype.newbyteorder("<")).tobytes())
    return digest.digest()


def _invalid(name: str, problem: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.MODEL_INVALID,
        f"The encoder {name} {problem}: name a factory module:function, in a module that is installed, of a "
        "torch module that takes prepared records (n, columns) and gives features (n, width).",
    )
