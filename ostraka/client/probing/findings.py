"""What a probe found: how often each group agrees with known labels, and which parties stand out."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import hypergeom

Bools: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
LEVEL = 0.01
"""Chance that any party is told low although all vote alike."""
DOUBTFUL = 0.1
"""A party with a smaller p, by itself, may be to blame for what its groups answer."""


def p_values(agreed: Ints, asked: Ints, members: Bools) -> Floats:
    """Return each party's p-value: how likely its groups agree so little if it votes like all other parties.

    Each of its groups is compared with all groups without it by Fisher's exact test, one-sided, and the
    largest p counts: a party that was once in a group that agrees well is not to blame for the others.

    Args:
        agreed: answers of each group that agree with the known labels, (..., G).
        asked: records that each group was asked, (..., G).
        members: which parties are in a group, (G, P); every party is in one at least.

    Returns:
        The largest p of each party, (..., P); 1 where nothing can be compared.
    """
    parties, groups = np.nonzero(members.T)
    right, total = ((counts @ ~members)[..., parties] for counts in (agreed, asked))
    own = agreed[..., groups]
    of = asked[..., groups]
    p = np.nan_to_num(hypergeom.cdf(own, of + total, own + right, of), nan=1.0)
    first = np.flatnonzero(np.diff(parties, prepend=-1))
    found: Floats = np.maximum.reduceat(p, first, axis=-1)
    return found


def holm(p: Floats) -> Floats:
    """Return p-values (..., P) adjusted by Holm's method for as many tests as there are."""
    order = p.argsort(axis=-1)
    factors = np.arange(p.shape[-1], 0, -1)
    adjusted = np.maximum.accumulate(np.take_along_axis(p, order, axis=-1) * factors, axis=-1)
    back = np.empty_like(p)
    np.put_along_axis(back, order, np.minimum(adjusted, 1.0), axis=-1)
    return back


def low(p: Floats) -> Bools:
    """Return the parties whose groups agree less than the rest; the family-wise error stays below `LEVEL`."""
    found: Bools = holm(p) < LEVEL
    return found


def to_blame(p: Floats, members: Bools) -> Bools:
    """Return the parties that are the only explanation for at least one of their low groups.

    Bad parties may surround one that votes well, and its groups are low by them. These are the "definite
    defectives" of group testing (Aldridge, Baldassini and Johnson 2014).

    Args:
        p: as `p_values` returns them, (..., P).
        members: which parties are in a group, (G, P).
    """
    groups = members.astype(np.int64)
    alone = (p < DOUBTFUL) @ groups.T == 1
    found: Bools = low(p) & (alone @ groups > 0)
    return found


Z = 1.96
"""Deviations on either side that hold 95% of a normal distribution."""
Verdict: TypeAlias = Literal["low", "unclear", "none"]


@dataclass(frozen=True)
class GroupFinding:
    """What the parties of one session answered together.

    Attributes:
        parties: their names.
        asked: records that were asked and settled.
        answered: those with a label; `agreed` those whose label is the known one.
    """

    parties: tuple[str, ...]
    asked: int
    answered: int
    agreed: int

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95% interval of the share that agrees; (0, 1) where nothing was asked."""
        if not self.asked:
            return 0.0, 1.0
        share = self.agreed / self.asked
        spread = Z * Z / self.asked
        middle = share + spread / 2
        half = Z * math.sqrt(share * (1 - share) / self.asked + spread / (4 * self.asked))
        return max(0.0, (middle - half) / (1 + spread)), min(1.0, (middle + half) / (1 + spread))


@dataclass(frozen=True)
class PartyFinding:
    """What a party's groups say of it.

    Attributes:
        site: its name.
        asked: records that its groups were asked; `agreed` those whose label is the known one.
        p: how likely that is if it votes like the others, corrected for the number of parties (Holm).
        verdict: "low" where its groups agree less than those without it, and others do not explain it;
            "unclear" where others that are low may explain it; else "none".
    """

    site: str
    asked: int
    agreed: int
    p: float
    verdict: Verdict


def party_findings(
    groups: Sequence[GroupFinding], parties: Sequence[str], members: NDArray[np.bool_]
) -> tuple[PartyFinding, ...]:
    """Return what groups say of each party, sorted by name.

    Args:
        groups: what each group answered.
        parties: names of the parties.
        members: which of them are in a group, bool (groups, parties).
    """
    agreed, asked = (
        np.array([getattr(group, name) for group in groups], np.int64) for name in ("agreed", "asked")
    )
    p = p_values(agreed, asked, members)
    lows = low(p)
    blamed = to_blame(p, members)
    figures = zip(parties, asked @ members, agreed @ members, holm(p), lows, blamed, strict=True)
    return tuple(
        PartyFinding(site, int(of), int(right), float(chance), _verdict(bool(is_low), bool(is_blamed)))
        for site, of, right, chance, is_low, is_blamed in sorted(figures, key=lambda row: row[0])
    )


def _verdict(is_low: bool, is_blamed: bool) -> Verdict:
    return "low" if is_blamed else "unclear" if is_low else "none"
