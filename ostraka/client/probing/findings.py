"""What a probe found: how often each group agrees with known labels, and which parties stand out."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ostraka.client.probing.suspicion import holm, low, p_values, to_blame

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
        share, spread = self.agreed / self.asked, Z * Z / self.asked
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
    lows, blamed = low(p), to_blame(p, members)
    figures = zip(parties, asked @ members, agreed @ members, holm(p), lows, blamed, strict=True)
    return tuple(
        PartyFinding(site, int(of), int(right), float(chance), _verdict(bool(is_low), bool(is_blamed)))
        for site, of, right, chance, is_low, is_blamed in sorted(figures, key=lambda row: row[0])
    )


def _verdict(is_low: bool, is_blamed: bool) -> Verdict:
    return "low" if is_blamed else "unclear" if is_low else "none"
