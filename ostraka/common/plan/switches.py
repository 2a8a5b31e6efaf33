"""Mechanisms that support encrypted queries, and those that support blind tallies (docs/confidential.md)."""

from __future__ import annotations

from ostraka.common.mechanism import Mechanism, invalid_plan, labelling
from ostraka.common.plan.fields import PlanFields
from ostraka.common.sharing.ballots import VOTE

CIRCUIT_RING_BITS = 32
"""The ring in which garbled circuits hand over shares and take sums."""
MAX_COLUMNS = 256
"""Values of a ballot, and classes, that a circuit computes for one query at most."""
MAX_ENCRYPTED = 4096
"""Queries of one encrypted batch: the slots of a ciphertext."""


def check_switches(plan: PlanFields) -> None:
    """Raise `plan.invalid` where encoding ckks or tally blind do not go with the rest of a plan."""
    if plan.ballots == "verified":
        _check_verified(plan)
    if plan.encoding == "plain" and plan.tally == "aggregate":
        return
    if plan.ring_bits != CIRCUIT_RING_BITS:
        raise invalid_plan(
            f"garbled circuits compute in a ring of {CIRCUIT_RING_BITS} bits; set ring_bits to that"
        )
    if max(plan.classes, plan.mechanism.width(plan.classes)) > MAX_COLUMNS:
        raise invalid_plan(
            f"garbled circuits take at most {MAX_COLUMNS} classes, labels or label sets; lower "
            "max_positives, choose mechanism tau, or encoding plain with tally aggregate"
        )
    if plan.encoding == "ckks":
        _check_encrypted(plan)
    if plan.tally == "blind":
        _check_blind(plan.mechanism)


def unverifiable(mechanism: Mechanism, encoding: str, tally: str, classes: int) -> str | None:
    """Return why ballots of such plans cannot be verified; None where they can (docs/verified-ballots.md)."""
    if encoding == "ckks":
        return "ballots on encrypted queries come out of garbled circuits and have no proof; choose plain"
    if tally == "blind":
        return (
            "a blind tally sums modulo 2^32 and verified ballots are shared modulo a prime; choose aggregate"
        )
    if mechanism.ballot.claim(1, classes, 1) is None:
        return _unprovable(mechanism)
    return None


def _check_verified(plan: PlanFields) -> None:
    problem = unverifiable(plan.mechanism, plan.encoding, plan.tally, plan.classes)
    if problem is not None:
        raise invalid_plan(f"{problem}, or ballots unverified")


def _unprovable(mechanism: Mechanism) -> str:
    unit = mechanism.ballot.verifiable.unit
    if unit < VOTE:
        return (
            f"verified, a ballot of all labels keeps nothing in steps of 1/{VOTE // unit} vote; clip it less"
        )
    return f"ballots of mechanism {mechanism.kind} are no votes, and only these have a proof"


def _check_encrypted(plan: PlanFields) -> None:
    if plan.mechanism.by_record:
        raise invalid_plan(
            f"mechanism {plan.mechanism.kind} looks records up among the queries, which encryption hides; "
            "choose encoding plain"
        )
    if plan.batch_size > MAX_ENCRYPTED:
        raise invalid_plan(f"a ciphertext holds {MAX_ENCRYPTED} queries; ask for batches of at most as many")


def _check_blind(mechanism: Mechanism) -> None:
    if not mechanism.blind:
        fitting = [kind for kind, known in labelling().items() if known.blind]
        raise invalid_plan(
            f"mechanism {mechanism.kind} needs the histogram itself; choose tally aggregate, or one of "
            f"{', '.join(fitting)}"
        )
