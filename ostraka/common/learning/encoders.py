"""Public networks that turn records into features; the site with the plain records runs them."""

import hashlib
import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.device import HOST, Device
from ostraka.common.learning.projections import is_projection, projection

if TYPE_CHECKING:
    from torch import Tensor, nn

MICRO_BATCH = 256
"""Number of records encoded at a time on a CPU."""
MICRO_BATCH_ON_GPU = 1024
"""The same on a card, initially: a ResNet-18's first layer of 224 by 224 pixels takes 3 GB for this many."""


class Encoder:
    """A network in evaluation mode, and the digest of its weights; only one thread at a time may use it.

    Attributes:
        name: its factory, "module:function".
        sha256: digest of its weights and buffers; sites with equal digests encode alike.
    """

    def __init__(self, name: str, network: "nn.Module", device: Device = HOST) -> None:
        """Take a network from prepared records (n, F) float32 to features (n, F'), and its device.

        It computes at the first place of the device, in float32, so that the features are alike at all sites.
        """
        from ostraka.common.learning.device_failures import device_failures
        from ostraka.common.learning.micro_batches import MicroBatches

        self.name = name
        self.sha256 = _digest(network.state_dict())
        self._device = device
        with device_failures(device):
            self._network = network.eval().to(device.first)
        self._micro = MicroBatches(device, device.first, MICRO_BATCH if device.is_cpu else MICRO_BATCH_ON_GPU)

    def encode(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return features (n, F') float32 of records (n, F), as `Task.prepare` gives them.

        Raises `model.invalid` if the network does not accept such records, or gives features that are not
        finite, and `device.*` if the device causes the failure.
        """
        import torch

        records = torch.from_numpy(X)
        with torch.inference_mode():
            # An empty batch is evaluated, too, so that zero records give features of the right width.
            parts = self._encode(records) if len(X) else [self._part(records)]
        features = torch.cat(parts).numpy().astype(np.float32)
        if not np.isfinite(features).all():
            raise _invalid(self.name, "gives features that are not numbers")
        return features

    def width(self, columns: int) -> int:
        """Return the number of features of a record with this many columns; may raise as `encode`."""
        width: int = self.encode(np.zeros((1, columns), np.float32)).shape[1]
        return width

    def _encode(self, records: "Tensor") -> list["Tensor"]:
        from ostraka.common.learning.device_failures import device_failures

        try:
            with device_failures(self._device):
                return self._micro.evaluate(self._part, records)
        except OstrakaError:
            raise
        except Exception as exc:
            raise _invalid(self.name, f"cannot take prepared records ({type(exc).__name__})") from exc

    def _part(self, records: "Tensor") -> "Tensor":
        found: Tensor = self._network(records).cpu()
        if found.dim() != 2 or len(found) != len(records):
            shape = tuple(found.shape[1:])
            raise _invalid(self.name, f"gives shape {shape} for a record, not one row of features")
        return found


def load_encoder(name: str, device: Device = HOST) -> Encoder:
    """Load the encoder of a factory "module:function", which takes nothing and returns a torch module.

    It computes on the device. Names of `projections` are not factories; tasks use them.

    Raises `model.invalid` if the module cannot be imported, if the factory is missing, fails, or returns
    something else, or if the network's features of one record depend on other records; and `device.*` if it
    cannot be moved to the device.
    """
    from torch import nn

    if is_projection(name):
        return Encoder(name, projection(name), device)
    module, _, function = name.partition(":")
    try:
        network = getattr(importlib.import_module(module), function)()
        encoder = Encoder(name, network, device) if isinstance(network, nn.Module) else None
    except OstrakaError:
        raise
    except Exception as exc:
        raise _invalid(name, f"cannot be made ({type(exc).__name__})") from exc
    if encoder is None:
        raise _invalid(name, "gives no torch module")
    if any(map(_takes_batch_statistics, network.modules())):
        raise _invalid(name, "takes statistics of the records that are encoded together")
    return encoder


def _takes_batch_statistics(layer: "nn.Module") -> bool:
    """Whether a record's features would depend on other records, even in evaluation mode."""
    from torch.nn.modules.batchnorm import _BatchNorm

    return isinstance(layer, _BatchNorm) and layer.running_mean is None


def _digest(weights: Mapping[str, "Tensor"]) -> bytes:
    """Return SHA-256 over name, type, shape and little-endian bytes of every tensor, by name."""
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
