"""Selection of the records of each training step."""

import torch
from torch import Tensor


class Draws:
    """Records in an order drawn anew for every pass; a batch may span two passes."""

    def __init__(self, records: int, batch: int, random: torch.Generator) -> None:
        """Take how many records there are and how many are drawn at a time."""
        self._records, self._batch, self._random = records, batch, random
        self.left = torch.empty(0, dtype=torch.int64, device=random.device)
        """Indices of this pass that were not drawn yet."""

    def draw(self) -> Tensor:
        """Draw the next batch's indices, int64 (batch,); none where there are no records."""
        while self._records and len(self.left) < self._batch:
            order = torch.randperm(self._records, generator=self._random, device=self._random.device)
            self.left = torch.cat([self.left, order])
        drawn, self.left = self.left[: self._batch], self.left[self._batch :]
        return drawn
