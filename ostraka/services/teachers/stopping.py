"""Early stopping of a network on its slice."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from ostraka.services.teachers.layouts.stack import Stack
from ostraka.services.teachers.losses import Loss
from ostraka.services.teachers.slices import Slice

Batch = tuple[Tensor, Tensor]


class Stopping:
    """Keeps every network as it was when its loss on records held out of its own slice was lowest.

    Where no loss is a number, that is as it was at the first look. A network whose loss did not fall in
    `patience` passes keeps those weights for good, whatever the networks beside it do: no slice decides over
    another's teacher. Where nothing is held out, networks stay as they end.

    Attributes:
        shown: how many steps were trained.
    """

    def __init__(
        self, nets: Sequence[nn.Module], stack: Stack, held: Sequence[Slice], loss: Loss, patience: int
    ) -> None:
        """Take networks, the stack that trains them, what their slices hold out, and passes to wait."""
        self.shown = 0
        self._nets, self._stack, self._held = nets, stack, held
        self._loss = loss
        self._patience = patience
        self._lowest = [math.inf] * len(nets)
        self._waited = [0] * len(nets)
        self._best: dict[int, dict[str, Tensor]] = {}

    def watch(self, steps: Iterator[Batch], pace: int) -> Iterator[Batch]:
        """Yield the steps of training until no network may still improve; look after every `pace` of them."""
        looks = any(len(part.y) for part in self._held)
        for step in steps:
            if looks and self.shown and self.shown % pace == 0 and not self._improving():
                return
            self.shown += 1
            yield step
        if looks:
            self._improving()

    def restore(self) -> None:
        """Give every network the weights it had when it was best."""
        for row, state in self._best.items():
            self._nets[row].load_state_dict(state)

    def _improving(self) -> bool:
        """Look at every network once; return whether one may still improve."""
        self._stack.unstack()
        for row in range(len(self._nets)):
            if len(self._held[row].y) and self._waiting(row):
                self._look(row)
        return any(self._waiting(row) for row in range(len(self._nets)))

    def _waiting(self, row: int) -> bool:
        return len(self._held[row].y) == 0 or self._waited[row] < self._patience

    def _look(self, row: int) -> None:
        loss = self._loss_of(row)
        self._waited[row] += 1
        if loss < self._lowest[row]:
            self._lowest[row], self._waited[row] = loss, 0
        if self._waited[row] == 0 or row not in self._best:
            self._best[row] = {name: value.clone() for name, value in self._nets[row].state_dict().items()}

    @torch.no_grad()
    def _loss_of(self, row: int) -> float:
        """Return the loss on what is held out."""
        net, part = self._nets[row], self._held[row]
        device = next(net.parameters()).device
        X, y = torch.from_numpy(part.X).to(device), torch.from_numpy(part.y).to(device)
        net.eval()
        loss = float(self._loss.of([row])(net(X)[None], y[None]))
        net.train()
        return loss


def hold_out(part: Slice, share: float) -> tuple[Slice, Slice]:
    """Split a slice into what its network is shown and what not: a share, rounded down, drawn by its entropy.

    The draw depends on the number of records and not on what they hold.
    """
    random = np.random.default_rng((*part.entropy, 1))
    order = random.permutation(len(part.y))
    held, shown = np.split(order, [math.floor(share * len(part.y))])
    return _rows(part, np.sort(shown)), _rows(part, np.sort(held))


def _rows(part: Slice, rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Slice:
    return Slice(part.X[rows], part.y[rows], part.entropy)
