"""What a tallied batch releases, and what it costs each unit (DESIGN sections 2, 5 and 6)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from common.mechanism import Mechanism
from common.plan import BOUND, Plan
from common.privacy import amount, worst_case
from common.sharing.fixed_point import decode
from common.sharing.ring import Ring, RingArray
from guardian.accounting import charge
from guardian.ledger import Budget, Charge
from guardian.mechanisms import Answers, release
from guardian.noise import LATTICE, NoiseSource
from protos.ostraka.v1 import common_pb2, guardian_pb2


@dataclass(frozen=True)
class Outcome:
    """Answers as stored and sent, how many there are, and the charges that go with them."""

    answers: bytes = field(repr=False)
    answered: int = field(repr=False)
    charges: tuple[Charge, ...] = field(repr=False)


def worst_amount(mechanism: Mechanism, budget: Budget, sensitivity: int, queries: int, answered: int) -> int:
    """The worst cost to a unit of asking `queries` and answering `answered` of them, in ledger amounts.

    `sensitivity` is what the unit can change in one query, in votes. With all answered it is what a batch
    reserves; it never exceeds that with fewer.
    """
    return worst_case(mechanism, budget.order, float(sensitivity)).amount(queries, answered)


def tally(
    plan: Plan,
    total: RingArray,
    budgets: Sequence[Budget],
    frozen: Mapping[str, common_pb2.Participant],
    noise: NoiseSource,
    bound: BOUND,
) -> Outcome:
    """Release one batch from its ring sum and charge every unit of the frozen parties.

    Args:
        plan: the session's plan.
        total: ring sums of all shares, queries x classes; honest or not, they are answered alike.
        budgets: the units to charge.
        frozen: the parties whose shares are in the sum, by site; their scheduled teachers make n.
        noise: source of the discrete Gaussian.
        bound: how the data-dependent charge is computed.
    """
    ring = Ring(plan.ring_bits)
    answers = release(total, plan.mechanism, noise, ring)
    votes = decode(total, ring)
    teachers = sum(p.teachers for p in frozen.values())
    answered = int(answers.answered.sum())
    kinds = {(b.order, frozen[b.key.party].max_votes_per_person) for b in budgets}
    data_dependent = {
        (order, sensitivity): amount(
            charge(
                plan.mechanism,
                votes,
                answers.answered,
                order,
                bound,
                float(sensitivity),
                teachers=teachers,
                lattice=LATTICE,
            )
        )
        for order, sensitivity in kinds
    }
    charges = []
    for budget in budgets:
        sensitivity = frozen[budget.key.party].max_votes_per_person
        worst = worst_amount(plan.mechanism, budget, sensitivity, len(total), answered)
        charges.append(Charge(budget.key, worst, data_dependent[budget.order, sensitivity]))
    return Outcome(encode(answers), answered, tuple(charges))


def encode(answers: Answers) -> bytes:
    """Answers as the serialized reply that is stored and sent, byte for byte the same every time."""
    return guardian_pb2.ReleaseReply(
        answers=[
            guardian_pb2.Answer(answered=bool(answered), label=int(label) if answered else 0)
            for answered, label in zip(answers.answered, answers.labels, strict=True)
        ]
    ).SerializeToString(deterministic=True)
