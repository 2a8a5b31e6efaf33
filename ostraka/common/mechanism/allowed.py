"""The words by which policies allow mechanisms: `mechanisms` in `[policy]` of guardians and parties."""

from collections.abc import Collection

from ostraka.common.console.texts import list_words
from ostraka.common.mechanism.mechanism import MECHANISMS, Mechanism

VOTES = "votes"
SUMS = "sums"
WORDS = (VOTES, SUMS)
"""What stands for several mechanisms: those that label queries, and those that release sums over records."""
MODEL_OF_EVERYBODY = (
    "of which whoever asks makes a model of everybody: it answers any question, for ever, to whoever has it"
)
"""What sums over records come to."""


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
    return any(kind == SUMS or _sums(kind) for kind in named or ())


def describe_allowed(named: Collection[str] | None) -> str:
    """Return a sentence on what a policy that names these mechanisms allows."""
    if named is None:
        return "It allows votes and joint training, but no sums over records, of which models are made."
    votes = ["votes"] if VOTES in named else []
    others = sorted(kind for kind in named if kind not in WORDS and not _sums(kind))
    answered = list_words([*votes, *others]) if votes or others else "no votes"
    if not allows_sums(named):
        return f"It allows {answered}, but no sums over records, of which models are made."
    return f"It allows {answered}, and sums over records, {MODEL_OF_EVERYBODY}."


def _sums(kind: str) -> bool:
    return kind in MECHANISMS and MECHANISMS[kind].sums_records
