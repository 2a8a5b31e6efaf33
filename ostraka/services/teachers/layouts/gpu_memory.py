"""Smaller batches where a GPU's memory is full."""

from collections.abc import Callable

import structlog
import torch
from torch import Tensor

MICRO_BATCH = 128
"""Records evaluated at a time on a CPU: few enough that what layers give each other stays in its cache."""
MICRO_BATCH_ON_GPU = 4096
"""The same on a GPU, at first: many enough to keep it busy, and halved wherever its memory is short."""


def is_out_of_memory(exc: Exception) -> bool:
    """Whether a device had no memory left; MPS says so in words only."""
    return isinstance(exc, torch.OutOfMemoryError) or "out of memory" in str(exc)


def free_memory(device: torch.device) -> None:
    """Give back what torch keeps of a device's memory for later."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
    elif device.type == "mps":
        torch.mps.empty_cache()


class MicroBatches:
    """Evaluates records some at a time; half as many from the moment on at which memory was short."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._size = MICRO_BATCH if device.type == "cpu" else MICRO_BATCH_ON_GPU
        self._told = False

    def evaluate(self, work: Callable[[Tensor], Tensor], records: Tensor) -> list[Tensor]:
        """`work` of all records (N, ...), in parts; raises what it raises, memory included where N is 1."""
        results: list[Tensor] = []
        done = 0
        while done < len(records):
            part = records[done : done + self._size]
            result = self._within_memory(work, part)
            if result is None:
                self._halve(len(part))
            else:
                results.append(result)
                done += len(part)
        return results

    def _within_memory(self, work: Callable[[Tensor], Tensor], part: Tensor) -> Tensor | None:
        """`work` of a part; None where it takes too much memory, which is free again once this returns."""
        try:
            return work(part.to(self._device, non_blocking=True))
        except Exception as exc:
            if not is_out_of_memory(exc) or len(part) == 1:
                raise
            return None

    def _halve(self, size: int) -> None:
        self._size = min(self._size, size // 2)
        free_memory(self._device)
        if not self._told:
            self._told = True
            structlog.get_logger().warning(
                "device.memory_full", device=self._device.type, micro_batch=self._size
            )
