"""Rows of tables with a few values taken from others: the weak and the strong view of a record."""

from dataclasses import dataclass

import torch
from torch import Tensor

WEAK_MASK, STRONG_MASK = 0.05, 0.3
"""Share of values that are replaced by another record's in the same column."""
WEAK_NOISE, STRONG_NOISE = 0.02, 0.1
"""Deviation of the noise on every value, in deviations of its column."""
STRONG_MIX = 0.2
"""Weight up to which a record is mixed with another."""


@dataclass(frozen=True)
class Tables:
    """Views of the scaled rows of a table; other records are those of the same batch."""

    def weak(self, x: Tensor, random: torch.Generator) -> Tensor:
        """Rows (n, F), a few values masked by those of others, with little noise."""
        return _noised(_masked(x, WEAK_MASK, random), WEAK_NOISE, random)

    def strong(self, x: Tensor, random: torch.Generator) -> Tensor:
        """Rows (n, F), mixed with others, many values masked, with more noise."""
        weight = STRONG_MIX * torch.rand(len(x), 1, generator=random, device=x.device)
        mixed = torch.lerp(x, _others(x, random), weight)
        return _noised(_masked(mixed, STRONG_MASK, random), STRONG_NOISE, random)


def _masked(x: Tensor, share: float, random: torch.Generator) -> Tensor:
    replaced = torch.rand(x.shape, generator=random, device=x.device) < share
    return torch.where(replaced, _others(x, random), x)


def _others(x: Tensor, random: torch.Generator) -> Tensor:
    """For each row another of the batch, drawn at random."""
    return x[torch.randperm(len(x), generator=random, device=x.device)]


def _noised(x: Tensor, deviation: float, random: torch.Generator) -> Tensor:
    return x + deviation * torch.randn(x.shape, generator=random, device=x.device)
