"""What a tallied batch releases, and what it costs each unit (DESIGN sections 2, 5 and 6)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray

from common.mechanism import BOUND
from common.plan import Plan
from common.privacy import WorstCase, amount, worst_case
from common.sharing.fixed_point import FRACTION_BITS, decode
from common.sharing.ring import Ring, RingArray
from guardian.accounting import Tally, charge, largest_charge
from guardian.ledger import Budget, Charge
from guardian.mechanisms import Answers, release
from guardian.noise import LATTICE, NoiseSource
from guardian.sessions.admission import voters
from protos.ostraka.v1 import common_pb2, guardian_pb2


@dataclass(frozen=True)
class Outcome:
    """Answers as stored and sent, how many there are, and the charges that go with them."""

    answers: bytes = field(repr=False)
    answered: int = field(repr=False)
    charges: tuple[Charge, ...] = field(repr=False)


def worst_cost(plan: Plan, budget: Budget, sensitivity: int) -> WorstCase:
    """The worst cost to a unit of a batch of `plan`, at its budget's order.

    `sensitivity` is what the unit can change in one query, in votes.
    """
    return worst_case(plan.mechanism, budget.order, float(sensitivity), classes=plan.classes)


def tally(
    plan: Plan,
    total: RingArray,
    scores: NDArray[np.int64] | None,
    budgets: Sequence[Budget],
    frozen: Mapping[str, common_pb2.Participant],
    noise: NoiseSource,
    bound: BOUND,
) -> Outcome:
    """Release one batch from its ring sum and charge every unit of the frozen parties.

    Args:
        plan: the session's plan.
        total: ring sums of all shares, queries x width; honest or not, they are answered alike.
        scores: the student's probabilities of an interactive plan, queries x classes in units of 2^-16.
        budgets: the units to charge.
        frozen: the parties whose shares are in the sum, by site; their scheduled teachers make n.
        noise: source of discrete noise.
        bound: how the data-dependent charge is computed.
    """
    ring = Ring(plan.ring_bits)
    teachers = voters(plan.mechanism, frozen.values())
    answers = release(
        total, plan.mechanism, noise, ring, classes=plan.classes, teachers=teachers, scores=scores
    )
    released = Tally(
        mechanism=plan.mechanism,
        classes=plan.classes,
        teachers=teachers,
        votes=decode(total, ring),
        answered=answers.answered,
        scores=None if scores is None else np.ldexp(scores.astype(np.float64), -FRACTION_BITS),
        adjacency=plan.adjacency,
    )

    @cache
    def spent(order: float, sensitivity: int) -> int:
        return amount(charge(released, order, bound, float(sensitivity), lattice=LATTICE))

    @cache
    def at_most(order: float, sensitivity: int) -> int:
        return amount(largest_charge(released, order, bound, float(sensitivity), lattice=LATTICE))

    charges = []
    for budget in budgets:
        sensitivity = frozen[budget.key.party].max_votes_per_person
        cost = worst_cost(plan, budget, sensitivity)
        most = cost.reservation(*answers.answered.shape)
        needed = at_most(budget.order, sensitivity) if budget.enforce == "data_dependent" else 0
        charges.append(
            Charge(
                budget.key,
                worst_case=cost.amount(answers.answered),
                data_dependent=min(most, spent(budget.order, sensitivity)),
                at_most=min(most, needed),
            )
        )
    return Outcome(encode(answers), int(answers.answered.any(axis=1).sum()), tuple(charges))


def evaluations(budgets: Sequence[Budget], frozen: Mapping[str, common_pb2.Participant]) -> int:
    """How often `tally` computes the bound for these units: budgets alike share it."""
    kinds = {(b.order, frozen[b.key.party].max_votes_per_person, b.enforce) for b in budgets}
    return sum(3 if enforce == "data_dependent" else 1 for _, _, enforce in kinds)


def encode(answers: Answers) -> bytes:
    """Answers as the serialized reply that is stored and sent, byte for byte the same every time."""
    one = _class if answers.answered.shape[1] == 1 else _labels
    return guardian_pb2.ReleaseReply(
        answers=[
            one(answered, labels) for answered, labels in zip(answers.answered, answers.labels, strict=True)
        ]
    ).SerializeToString(deterministic=True)


def _class(answered: NDArray[np.bool_], labels: NDArray[np.int64]) -> guardian_pb2.Answer:
    return guardian_pb2.Answer(answered=bool(answered[0]), label=int(labels[0]) if answered[0] else 0)


def _labels(answered: NDArray[np.bool_], labels: NDArray[np.int64]) -> guardian_pb2.Answer:
    return guardian_pb2.Answer(
        answered=bool(answered.any()),
        answered_labels=np.packbits(answered).tobytes(),
        positive_labels=np.packbits(labels == 1).tobytes(),
    )
