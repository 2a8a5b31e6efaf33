"""What a tallied batch releases, and what it costs each unit (DESIGN sections 2, 5 and 6)."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from common.mechanism import BOUND, DpTtac, Ttac
from common.plan import Plan
from common.sharing.fixed_point import FRACTION_BITS, decode
from common.sharing.ring import Ring, RingArray
from guardian.accounting import Tally
from guardian.ledger import Charge
from guardian.mechanisms import Answers, release, released_updates
from guardian.noise import NoiseSource
from guardian.sessions.abstaining import counts_by_label
from guardian.sessions.attendance import Attendance
from guardian.sessions.charging import alike, charge_alike, worst_charges
from guardian.sessions.payers import Payer
from protos.ostraka.v1 import common_pb2, guardian_pb2


@dataclass(frozen=True)
class Outcome:
    """Answers as stored and sent, how many there are, and the charges that go with them."""

    answers: bytes = field(repr=False)
    answered: int = field(repr=False)
    charges: tuple[Charge, ...] = field(repr=False)


def tally(
    plan: Plan,
    total: RingArray,
    scores: NDArray[np.int64] | None,
    payers: Sequence[Payer],
    attendance: Attendance,
    noise: NoiseSource,
    bound: BOUND,
) -> Outcome:
    """Release one batch from its ring sum and charge every unit for the queries that its clique voted on.

    Args:
        plan: the session's plan.
        total: ring sums of all shares, queries x width; honest or not, they are answered alike.
        scores: the student's probabilities of an interactive plan, queries x classes in units of 2^-16.
        payers: the units to charge; charges come in the order of their keys.
        attendance: who votes on what among the parties whose shares are in the sum; it makes n.
        noise: source of discrete noise.
        bound: how the data-dependent charge is computed.
    """
    if isinstance(plan.mechanism, Ttac | DpTtac):
        return _trained(plan, plan.mechanism, total, payers, noise)
    ring = Ring(plan.ring_bits)
    by_label = counts_by_label(plan)
    totals = attendance.totals_by_label(plan.classes) if by_label else attendance.totals()
    voters = attendance.voters()
    answers = release(
        total,
        plan.mechanism,
        noise,
        ring,
        classes=plan.classes,
        totals=totals,
        voters=voters,
        scores=scores,
    )
    released = Tally(
        mechanism=plan.mechanism,
        classes=plan.classes,
        total=np.ldexp(totals.astype(np.float64), -FRACTION_BITS),
        voters=voters,
        votes=decode(total, ring),
        answered=answers.answered,
        scores=None if scores is None else np.ldexp(scores.astype(np.float64), -FRACTION_BITS),
        adjacency=plan.adjacency,
    )
    charged = [charge for group in alike(payers) for charge in charge_alike(plan, released, group, bound)]
    in_order = tuple(sorted(charged, key=lambda charge: charge.unit))
    return Outcome(encode(answers, plan), int(answers.answered.any(axis=1).sum()), in_order)


def _trained(
    plan: Plan, mechanism: Ttac | DpTtac, total: RingArray, payers: Sequence[Payer], noise: NoiseSource
) -> Outcome:
    """Release a round of a training, whose cost no update decides."""
    released = released_updates(total, mechanism, noise, Ring(plan.ring_bits))
    charged = worst_charges(plan, payers, np.ones((len(total), 1), dtype=np.bool_))
    return Outcome(encode_update(released), len(total), tuple(charged))


def encode_update(released: NDArray[np.int64]) -> bytes:
    """A sum in lattice steps as the serialized reply that is stored; chunks of it are sent."""
    update = common_pb2.Chunk(data=released.astype("<i8").tobytes())
    return guardian_pb2.ReleaseReply(update=update).SerializeToString(deterministic=True)


def encode(answers: Answers, plan: Plan) -> bytes:
    """Answers as the serialized reply that is stored and sent, byte for byte the same every time."""
    one = _labels if plan.multi_label else _class
    return guardian_pb2.ReleaseReply(
        answers=[
            one(answered, labels) for answered, labels in zip(answers.answered, answers.labels, strict=True)
        ]
    ).SerializeToString(deterministic=True)


def encode_answered(answered: NDArray[np.bool_], plan: Plan) -> bytes:
    """Which answers (Q, answers) a blind tally gave, as `encode` says it; 0 for what nobody here knows."""
    return encode(Answers.where(answered, np.zeros(answered.shape, dtype=np.int64)), plan)


def _class(answered: NDArray[np.bool_], labels: NDArray[np.int64]) -> guardian_pb2.Answer:
    return guardian_pb2.Answer(answered=bool(answered[0]), label=int(labels[0]) if answered[0] else 0)


def _labels(answered: NDArray[np.bool_], labels: NDArray[np.int64]) -> guardian_pb2.Answer:
    return guardian_pb2.Answer(
        answered=bool(answered.any()),
        answered_labels=np.packbits(answered).tobytes(),
        positive_labels=np.packbits(labels == 1).tobytes(),
    )
