"""Size limits of the messages of a blind tally."""

from ostraka.common.crypto.circuit import Circuit
from ostraka.common.crypto.computation import Computation
from ostraka.common.crypto.tally_circuits import answers_of, check_of
from ostraka.common.mechanism import invalid_plan
from ostraka.common.plan.plan import Plan

MOST_MESSAGE_BYTES = 2**28
"""The largest message of a step that is kept in memory whole, 256 MiB: the labels of a batch's words."""


def instances(plan: Plan, circuit: Circuit, queries: int) -> int:
    """How often `circuit` is garbled for so many queries: once for each, or for each label of each."""
    return queries * (plan.mechanism.width(plan.classes) // circuit.words)


def check_messages(plan: Plan) -> None:
    """Raise `plan.invalid` for a blind tally of batches whose messages are too large."""
    if plan.tally == "aggregate":
        return
    circuits = (check_of(plan.mechanism, plan.classes), answers_of(plan.mechanism, plan.classes))
    each = max(
        Computation.of(circuit, instances(plan, circuit, 1)).sizes.labels
        for circuit in circuits
        if circuit is not None
    )
    fits = MOST_MESSAGE_BYTES // each
    if plan.batch_size > fits:
        raise invalid_plan(
            f"garbled circuits of a batch of {plan.batch_size} queries do not fit into memory; ask for"
            f" batches of at most {fits}"
        )
