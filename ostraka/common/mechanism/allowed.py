"""Which mechanisms a policy allows: `mechanisms` in `[policy]` of guardians and parties."""

from collections.abc import Collection

from ostraka.common.console.texts import list_words
from ostraka.common.mechanism.mechanism import MECHANISMS, Mechanism, known_mechanism
from ostraka.common.release_kinds import MODEL_OF_EVERYBODY, RELEASE_KINDS, SUMS, VOTES


def allows(mechanism: Mechanism, named: Collection[str] | None) -> bool:
    """Whether a policy with these `mechanisms` allows one; None: the policy was written before sums existed.

    A word such as votes or sums covers only mechanisms with a formal guarantee.
    """
    if named is None:
        return mechanism.guaranteed and not mechanism.sums_records
    if mechanism.kind in named:
        return True
    word = VOTES if mechanism.labels_queries else SUMS if mechanism.sums_records else ""
    return word in named and mechanism.guaranteed


def require_known(named: Collection[str] | None) -> list[str]:
    """Return the mechanisms that a policy names individually; raise ValueError for an unknown name."""
    kinds = [kind for kind in named or () if kind not in RELEASE_KINDS]
    for kind in kinds:
        if known_mechanism(kind) is None:
            raise ValueError(f"mechanisms: '{kind}' is none of {', '.join((*RELEASE_KINDS, *MECHANISMS))}")
    return kinds


def allows_sums(named: Collection[str] | None) -> bool:
    """Whether a policy that names these mechanisms allows any sum over records."""
    return any(kind == SUMS or _sums(kind) for kind in named or ())


def describe_allowed(named: Collection[str] | None) -> str:
    """Return a sentence on what a policy that names these mechanisms allows."""
    if named is None:
        return "It allows votes and joint training, but no sums over records, of which models are made."
    votes = ["votes"] if VOTES in named else []
    others = sorted(kind for kind in named if kind not in RELEASE_KINDS and not _sums(kind))
    answered = list_words([*votes, *others]) if votes or others else "no votes"
    if not allows_sums(named):
        return f"It allows {answered}, but no sums over records, of which models are made."
    return f"It allows {answered}, and sums over records, {MODEL_OF_EVERYBODY}."


def _sums(kind: str) -> bool:
    return kind in MECHANISMS and MECHANISMS[kind].sums_records
