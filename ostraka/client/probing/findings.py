"""Findings of a probe: how often each group agrees with known labels, and which parties stand out."""

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
"""Chance that any party is reported as low although all vote alike."""
DOUBTFUL = 0.1
"""A party with a smaller individual p may explain the answers of its groups."""


def p_values(agreed: Ints, asked: Ints, members: Bools) -> Floats:
    """Return each party's p-value: the probability of its groups' low agreement if it votes like the others.

    Each of its groups is compared with all groups without it by Fisher's exact test, one-sided, and the
    largest p counts: a party that is in any group with good agreement does not explain the other groups.

    Args:
        agreed: answers of each group that agree with the known labels, (..., G).
        asked: records that each group was asked, (..., G).
        members: which parties are in a group, (G, P); every party is in at least one.

    Returns:
        The largest p of each party, (..., P); 1 if there is nothing to compare.
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
    """Return p-values (..., P) adjusted by Holm's method for this number of tests."""
    order = p.argsort(axis=-1)
    factors = np.arange(p.shape[-1], 0, -1)
    adjusted = np.maximum.accumulate(np.take_along_axis(p, order, axis=-1) * factors, axis=-1)
    back = np.empty_like(p)
    np.put_along_axis(back, order, np.minimum(adjusted, 1.0), axis=-1)
    return back


def low(p: Floats) -> Bools:
    """Return the parties whose groups agree less than the others; the family-wise error is below `LEVEL`."""
    found: Bools = holm(p) < LEVEL
    return found


def to_blame(p: Floats, members: Bools) -> Bools:
    """Return the parties that are the only explanation for at least one of their low groups.

    If all groups of a good party contain bad parties, its groups are low because of them. The result are the
    "definite defectives" of group testing (Aldridge, Baldassini and Johnson 2014).

    Args:
        p: as `p_values` returns them, (..., P).
        members: which parties are in a group, (G, P).
    """
    groups = members.astype(np.int64)
    alone = (p < DOUBTFUL) @ groups.T == 1
    found: Bools = low(p) & (alone @ groups > 0)
    return found


Z = 1.96
"""Standard deviations on either side that contain 95% of a normal distribution."""
Verdict: TypeAlias = Literal["low", "unclear", "none"]


@dataclass(frozen=True)
class GroupFinding:
    """The joint answers of one session's parties.

    Attributes:
        parties: their names.
        asked: number of records that were asked and settled.
        answered: number of them with a label.
        agreed: number of them whose label is the known one.
    """

    parties: tuple[str, ...]
    asked: int
    answered: int
    agreed: int

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95% interval of the share that agrees; (0, 1) if nothing was asked."""
        if not self.asked:
            return 0.0, 1.0
        share = self.agreed / self.asked
        spread = Z * Z / self.asked
        middle = share + spread / 2
        half = Z * math.sqrt(share * (1 - share) / self.asked + spread / (4 * self.asked))
        return max(0.0, (middle - half) / (1 + spread)), min(1.0, (middle + half) / (1 + spread))


@dataclass(frozen=True)
class PartyFinding:
    """What a party's groups show about it.

    Attributes:
        site: its name.
        asked: number of records that its groups were asked.
        agreed: number of them whose label is the known one.
        p: probability of that if it votes like the others, corrected for the number of parties (Holm).
        verdict: "low" if its groups agree less than those without it, and other parties do not explain it;
            "unclear" if other low parties may explain it; else "none".
    """

    site: str
    asked: int
    agreed: int
    p: float
    verdict: Verdict


def party_findings(
    groups: Sequence[GroupFinding], parties: Sequence[str], members: NDArray[np.bool_]
) -> tuple[PartyFinding, ...]:
    """Return the findings for each party, sorted by name.

    Args:
        groups: the answers of each group.
        parties: names of the parties.
        members: which parties are in a group, bool (groups, parties).
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
