"""Numbers of votes of one person that a party declared one after another, and which of them it raised."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise


def raised_to(declared: Sequence[int]) -> int | None:
    """Return the largest number that came after a smaller one; None where there is none."""
    return max((after for before, after in pairwise(declared) if after > before), default=None)


def raised_unknown(known: Sequence[int], declared: Sequence[int]) -> int | None:
    """Return the largest number that a party raised its votes to without a restored ledger's knowledge.

    A number that was raised and lowered again leaves no trace in the manifests that are left, so what the
    party kept counts. It may have kept numbers that never reached a guardian, or, where its journal is
    younger than the ledger, not all that the ledger knows: rather too much is raised than too little.

    Args:
        known: what its manifests before the loss said, in order.
        declared: what the party kept, in order.
    """
    return raised_to([*known[-1:], *_after(known, declared)])


def _after(known: Sequence[int], declared: Sequence[int]) -> Sequence[int]:
    """Return what was declared after all that is known, or everything where it lacks something known."""
    rest = iter(declared)
    changes = [votes for votes, _ in groupby(known)]
    if all(votes in rest for votes in changes):
        return list(rest)
    return declared
