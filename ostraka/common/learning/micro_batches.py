"""Parts of a batch that fit a device's memory."""

import threading
from collections.abc import Callable

import structlog
import torch
from torch import Tensor

from ostraka.common.learning.device import CPU, Device, free_memory, is_cuda, is_out_of_memory

MICRO_BATCH = 128
"""Number of records evaluated at a time on a CPU: few enough for the layers' outputs to stay in its cache."""
MICRO_BATCH_ON_GPU = 4096
"""The same on a card, initially: enough to keep it busy, and halved whenever its memory is short."""
PARTS_BEFORE_GROWTH = 16
"""Parts that must fit before twice as many records are tried; a failed try costs about one of them."""
MAX_PARTS_BEFORE_GROWTH = 1024
"""The same after many failed tries: memory that another process holds for good is rarely tried for."""


class MicroBatches:
    """Evaluates records in parts: half as many if memory is short, and gradually more again.

    Sizes depend only on memory, never on the content of records. Safe to use from several threads.

    Attributes:
        place: where they are evaluated.
    """

    def __init__(self, device: Device, place: torch.device, most: int | None = None) -> None:
        """Take the device, the place, and the maximum number of records at a time; None: the default."""
        self._device = device
        self.place = place
        self._most = most or (MICRO_BATCH if place.type == CPU else MICRO_BATCH_ON_GPU)
        self._size = self._most
        self._fitted = 0
        """Number of consecutive parts of this size that fitted."""
        self._patience = PARTS_BEFORE_GROWTH
        self._grown = False
        """Whether no part was tried yet since the size grew."""
        self._told = False
        # Guards the size and what determines it; not held while records are evaluated.
        self._lock = threading.Lock()
        device.watch(self)

    @property
    def size(self) -> int:
        """Current maximum number of records that are evaluated together."""
        return self._size

    @property
    def is_short(self) -> bool:
        """Whether memory is too short for the usual number."""
        return self._size < self._most

    def evaluate(self, work: Callable[[Tensor], Tensor], records: Tensor) -> list[Tensor]:
        """Return `work` of all records (N, ...), in parts; raises its errors, shortage only if N is 1."""
        # From pinned memory records are copied while earlier ones are computed.
        pinned = records.pin_memory() if is_cuda(self.place) else records
        results: list[Tensor] = []
        done = 0
        while done < len(records):
            part = pinned[done : done + self._size]
            result = self._within_memory(work, part)
            if result is None:
                self._halve(len(part))
            else:
                results.append(result)
                done += len(part)
                self._grow(len(part))
        return results

    def _within_memory(self, work: Callable[[Tensor], Tensor], part: Tensor) -> Tensor | None:
        """Return `work` of a part; None if it takes too much memory, which is free again after the return."""
        try:
            return work(part.to(self.place, non_blocking=True))
        except Exception as exc:
            if not is_out_of_memory(exc) or len(part) == 1:
                raise
            return None

    def _halve(self, size: int) -> None:
        with self._lock:
            if self._grown:
                self._patience = min(2 * self._patience, MAX_PARTS_BEFORE_GROWTH)
            self._grown = False
            self._size = min(self._size, size // 2)
            self._fitted = 0
            told = self._told
            self._told = True
        self._device.note_shortage()
        free_memory(self.place)
        if not told:
            structlog.get_logger().warning(
                "device.memory_full", device=self.place.type, micro_batch=self._size
            )

    def _grow(self, size: int) -> None:
        """Count a part that fitted; after enough full ones, twice as many records are tried."""
        if size < self._size or not (self.is_short or self._grown):
            return
        with self._lock:
            if self._grown:
                self._patience = PARTS_BEFORE_GROWTH
            self._fitted += 1
            self._grown = self.is_short and self._fitted >= self._patience
            if self._grown:
                self._size = min(2 * self._size, self._most)
                self._fitted = 0
