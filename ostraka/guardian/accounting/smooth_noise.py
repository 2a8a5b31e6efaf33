"""The totals that are stored to publish an epsilon later, never a histogram, and the noise on them."""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ostraka.common.privacy import InputError, amount
from ostraka.common.privacy.filters import GAUSSIAN
from ostraka.guardian.accounting.bounds.smooth_sensitivity import discount, publication_rdp
from ostraka.guardian.accounting.bounds.vote_terms import Term
from ostraka.guardian.accounting.numerics.arguments import check_scalar

DISTANCES = 128
"""Number of stored changes: by one record at histograms 0, 1, ..., 126 votes away, and at any farther one."""
_KIND_BYTES = 16
_CERTIFIED = 2
"""The first byte of a total whose changes are certified to be smooth."""
_FORMAT = struct.Struct(f">Bd{_KIND_BYTES}s{DISTANCES + 1}Q")
_UNCERTIFIED = struct.Struct(f">d{_KIND_BYTES}s{DISTANCES + 1}Q")
"""The format of totals that an older ledger stored before certificates existed: without the first byte."""


@dataclass(frozen=True)
class VoteTotal:
    """A batch's cost to a unit under theorem6, and how much one record of any unit changes it.

    Attributes:
        order: Renyi order of the unit's budget.
        kind: equal for units of one batch that have the same total; it depends only on the plan, the budgets
            and the schedule.
        spent: the cost, in amounts.
        changes: in amounts, by distance (DISTANCES,); zeros if the cost does not depend on votes.
    """

    order: float
    kind: bytes
    spent: int = field(repr=False)
    changes: tuple[int, ...] = field(repr=False)

    @classmethod
    def of(cls, kind: bytes, order: float, terms: Sequence[Term]) -> Self:
        """Add up the `terms` of a batch's queries, at `order`."""
        each = zip(*(islice(term.changes(), DISTANCES - 1) for term in terms), strict=True)
        changes = [*map(sum, each), sum(term.limit() for term in terms)]
        return cls(order, kind, sum(term.total() for term in terms), tuple(changes))

    @classmethod
    def of_worst_case(cls, order: float, spent: int) -> Self:
        """Return a total that does not depend on votes: the worst case, in amounts."""
        return cls(order, bytes(_KIND_BYTES), spent, (0,) * DISTANCES)

    def to_bytes(self) -> bytes:
        """Return the total as bytes; the length is the same for every total."""
        return _FORMAT.pack(_CERTIFIED, self.order, self.kind, self.spent, *self.changes)

    @classmethod
    def from_bytes(cls, kept: bytes) -> Self:
        """Read the bytes of `to_bytes`; a total without a certificate is read as one that depends on no vote.

        Raises:
            ValueError: if the bytes are not a total.
        """
        if len(kept) == _UNCERTIFIED.size:
            order, _, spent, *_ = _UNCERTIFIED.unpack(kept)
            return cls.of_worst_case(order, spent)
        if len(kept) != _FORMAT.size or kept[0] != _CERTIFIED:
            raise ValueError(f"a total has {_FORMAT.size} bytes, of which the first is {_CERTIFIED}")
        _, order, kind, spent, *changes = _FORMAT.unpack(kept)
        return cls(order, kind, spent, tuple(changes))


def kind_of(
    order: float, sensitivity: float, moved: float, queries: NDArray[np.bool_], abstains: Sequence[int]
) -> bytes:
    """Return the `kind` of a unit that votes on `queries` (Q,), except on the labels that it `abstains` from.

    `moved` is what any unit of the batch changes in one query.
    """
    places = struct.pack(f">3d{len(abstains)}I", order, sensitivity, moved, *abstains)
    return hashlib.sha256(places + np.packbits(queries).tobytes()).digest()[:_KIND_BYTES]


MIN_SCALE = 2**20
"""The least width of the noise, in amounts: a discrete Gaussian then has the divergences of a continuous one
to far below a float's precision (docs/accounting-smooth.md)."""
_SLACK = 1e-9
"""Relative amount by which beta is charged wider, plus an absolute thousandth of it, for the rounding of the
noise's scale to doubles."""


@dataclass(frozen=True)
class SmoothNoise:
    """The two public parameters of a publication.

    Attributes:
        beta: the smooth sensitivity changes by a factor of at most exp(beta) from neighbour to neighbour.
        sigma: standard deviation of the noise, in smooth sensitivities.
    """

    beta: float
    sigma: float

    @classmethod
    def by_order(cls, order: float) -> Self:
        """Return the default for units whose largest order is `order`.

        The default beta makes (order - 1) (exp(2 beta) - 1) half of 1, at which the divergence becomes
        infinite; sigma makes the divergence about a quarter. Only the order decides: parameters fitted to the
        votes would reveal them.
        """
        return cls(math.log1p(1 / (2 * (order - 1))) / 2, 2 * math.sqrt(order))

    def cost(self, order: float) -> int:
        """Return what a unit with this order pays, in amounts.

        Raises:
            InputError: if beta or sigma is not a finite number above 0, if beta is too large for the order,
                or for a Gaussian filter, for which nothing is proved.
        """
        if order == GAUSSIAN:
            raise InputError("order", "a Gaussian filter takes no noise that follows sensitivities")
        wider = check_scalar("beta", self.beta) * (1 + _SLACK) + _SLACK / 1000
        rdp = float(publication_rdp(wider, self.sigma, [order])[0])
        return amount(check_scalar("beta", rdp))

    def publish(self, total: int, changes: Sequence[int], gaussian: Callable[[float], int]) -> int:
        """Return `total` with noise, in amounts; the result may be below 0.

        Args:
            total: the total to publish.
            changes: its changes by distance, as `VoteTotal.changes` of all batches added up.
            gaussian: draws a discrete Gaussian of a scale, in whole amounts.
        """
        return total + gaussian(max(self.sigma * discount(changes, self.beta), float(MIN_SCALE)))
