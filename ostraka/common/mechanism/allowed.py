"""The words by which policies allow mechanisms: `mechanisms` in `[policy]` of the guardian and every party."""

from collections.abc import Collection

from ostraka.common.mechanism.mechanism import MECHANISMS, Mechanism

VOTES = "votes"
SUMS = "sums"
WORDS = (VOTES, SUMS)
"""What stands for several mechanisms: those that label queries, and those that release sums over records."""


def allows(mechanism: Mechanism, named: Collection[str] | None) -> bool:
    """Whether a policy that names these mechanisms allows one; None: it was written before sums were known.

    A word stands for mechanisms with a formal guarantee alone.
    """
    if named is None:
        return mechanism.guaranteed and not mechanism.sums_records
    if mechanism.kind in named:
        return True
    word = VOTES if mechanism.labels_queries else SUMS if mechanism.sums_records else ""
    return word in named and mechanism.guaranteed


def allows_sums(named: Collection[str] | None) -> bool:
    """Whether a policy that names these mechanisms allows any sum over records."""
    return any(kind == SUMS or (kind in MECHANISMS and MECHANISMS[kind].sums_records) for kind in named or ())
