"""Outcome of a tallied batch: its answers, and the charge of each unit (docs/architecture.md#charges)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import BOUND
from ostraka.common.plan.plan import Plan
from ostraka.common.sharing.modulus import RingArray
from ostraka.guardian.ledger import Charge
from ostraka.guardian.mechanisms import Answers, release, release_sums
from ostraka.guardian.noise import NoiseSource
from ostraka.guardian.sessions.cohorts import Attendance
from ostraka.guardian.sessions.data_dependent import DataDependentCosts
from ostraka.guardian.sessions.payers import Payer, worst_charges
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2


@dataclass(frozen=True)
class Outcome:
    """Answers as stored and sent, their number, and their charges.

    `costs` are computed after the answers have left, if the session asks for data-dependent costs.
    """

    answers: bytes = field(repr=False)
    answered: int = field(repr=False)
    charges: tuple[Charge, ...] = field(repr=False)
    costs: DataDependentCosts | None = field(repr=False, default=None)


def tally(
    plan: Plan,
    total: RingArray,
    scores: NDArray[np.int64] | None,
    payers: Sequence[Payer],
    attendance: Attendance,
    noise: NoiseSource,
    bound: BOUND,
) -> Outcome:
    """Release one batch from its ring sum and charge every unit for the queries that its cohort voted on.

    Only the mechanism looks at the sums, and its work does not depend on them: units are charged the worst
    case of the answers. The exception is a batch of data-dependent budgets.

    Args:
        plan: the session's plan.
        total: ring sums of all shares, queries x width; they are answered in the same way, honest or not.
        scores: the student's probabilities of an interactive plan, queries x classes in units of 2^-16.
        payers: the units to charge; charges come in the order of their keys.
        attendance: who votes on what among the parties whose shares are in the sum; it determines n.
        noise: source of discrete noise.
        bound: how the data-dependent charge is computed.
    """
    if plan.releases_sums:
        return _release_sum(plan, total, payers, noise)
    by_label = plan.counts_by_label
    totals = attendance.totals_by_label(plan.classes) if by_label else attendance.totals()
    answers = release(
        total,
        plan.mechanism,
        noise,
        plan.modulus,
        classes=plan.classes,
        totals=totals,
        scores=scores,
    )
    costs = DataDependentCosts(
        plan=plan,
        bound=bound,
        payers=tuple(payers),
        sums=total,
        scores=scores,
        totals=totals,
        voters=attendance.voters(),
        answered=answers.answered,
        labels=answers.labels,
    )
    reply = encode(answers, plan)
    answered = int(answers.answered.any(axis=1).sum())
    if any(payer.budget.enforce == "data_dependent" for payer in payers):
        return Outcome(reply, answered, costs.charges())
    charges = worst_charges(plan, payers, answers.answered)
    return Outcome(reply, answered, charges, costs if payers and bound != "worst_case" else None)


def _release_sum(plan: Plan, total: RingArray, payers: Sequence[Payer], noise: NoiseSource) -> Outcome:
    """Release a round of sums, whose cost does not depend on their values."""
    released = release_sums(total, plan.mechanism, noise, plan.modulus)
    charged = worst_charges(plan, payers, np.ones((len(total), 1), dtype=np.bool_))
    return Outcome(encode_sum(released), len(total), charged)


def encode_sum(released: NDArray[np.int64]) -> bytes:
    """Return a sum in lattice steps as the serialized reply to store; it is sent in chunks."""
    update = common_pb2.Chunk(data=released.astype("<i8").tobytes())
    return guardian_pb2.ReleaseReply(update=update).SerializeToString(deterministic=True)


def encode(answers: Answers, plan: Plan) -> bytes:
    """Return answers as the serialized reply to store and send, byte for byte the same every time.

    Its length depends only on the plan and the number of queries.
    """
    longest = guardian_pb2.Answer(answered=True, label=plan.classes - 1).ByteSize()
    one = _labels if plan.multi_label else partial(_class, longest=longest)
    return guardian_pb2.ReleaseReply(
        answers=[
            one(answered, labels) for answered, labels in zip(answers.answered, answers.labels, strict=True)
        ]
    ).SerializeToString(deterministic=True)


def encode_answered(answered: NDArray[np.bool_], plan: Plan) -> bytes:
    """Return which answers (Q, answers) a blind tally gave, as `encode` does; 0 for unknown labels."""
    return encode(Answers.where(answered, np.zeros(answered.shape, dtype=np.int64)), plan)


def _class(answered: NDArray[np.bool_], labels: NDArray[np.int64], *, longest: int) -> guardian_pb2.Answer:
    """Return the answer to one query, padded to the length of the `longest` answer."""
    label = int(labels[0]) if answered[0] else 0
    answer = guardian_pb2.Answer(answered=bool(answered[0]), label=label)
    answer.padding = bytes(longest - answer.ByteSize())
    return answer


def _labels(answered: NDArray[np.bool_], labels: NDArray[np.int64]) -> guardian_pb2.Answer:
    return guardian_pb2.Answer(
        answered=bool(answered.any()),
        answered_labels=np.packbits(answered).tobytes(),
        positive_labels=np.packbits(labels == 1).tobytes(),
    )
