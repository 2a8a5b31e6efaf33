"""The three tasks in Ostraka, measured by its own benchmarks."""

from collections.abc import Sequence

import ostraka
from benchmarks.confidential.work import WHOLE_VOTE, Work, computation, inference
from benchmarks.crypto.measured import Measured, add_up, median_of
from benchmarks.crypto.tasks import BATCH, CLASSES, FEATURES, FULL, TEACHERS
from benchmarks.verified.work import draw, measure_verified
from ostraka.common.crypto.ballot_circuits import ballot_circuit
from ostraka.common.crypto.logits import LOGIT_BITS
from ostraka.common.crypto.stream import SEED_BYTES
from ostraka.common.mechanism import GnMax
from ostraka.common.sharing.ballots import ClassCounts

BITS = 31
"""Bits of the field of verified ballots, the default for votes."""
SEEDS = 5  # of shares, blinds, commitment, challenge and point, all of the same size
BALLOT_MESSAGES = 5  # shares and commitment, challenge, proof, seed, verifier share with the point


def measure_ballots(_repeats: int) -> Measured:
    """Measure verified ballots of one party, with the point that a batch's parties share; median of 9."""
    layout, counts = draw(ClassCounts(), CLASSES, TEACHERS, BITS)
    steps = measure_verified(layout, counts)
    return Measured(
        version=ostraka.__version__,
        queries=BATCH,
        seconds={
            "party": steps.party,
            "querying party": steps.point + steps.querier,
            "guardian": steps.point + steps.guardian,
        },
        sent=layout.share_bytes + layout.proof_bytes + layout.message_bytes + SEEDS * SEED_BYTES,
        messages=BALLOT_MESSAGES,
    )


def measure_argmax(repeats: int) -> Measured:
    """Measure one teacher's ballot in circuits, from shares of its logits to shares of its vote."""
    circuit = ballot_circuit(GnMax(sigma=1.0).ballot, CLASSES, WHOLE_VOTE, LOGIT_BITS).circuit
    runs = [list(computation("argmax", circuit, "party", BATCH)) for _ in range(repeats)]
    return summarize(runs, BATCH)


def measure_head(repeats: int) -> Measured:
    """Measure one linear head on encrypted queries, a full ciphertext of them."""
    runs = [list(inference("head", "linear", (FEATURES, CLASSES), FULL)) for _ in range(repeats)]
    return summarize(runs, FULL)


def summarize(runs: Sequence[Sequence[Work]], queries: int) -> Measured:
    """Return the cost of a batch of `queries` from the steps of each repetition.

    Consecutive steps of one role send one message.
    """
    senders = [work.role for work in runs[0] if work.sent]
    turns = [role for role, before in zip(senders, [None, *senders], strict=False) if role != before]
    return Measured(
        version=ostraka.__version__,
        queries=queries,
        seconds=median_of(
            [add_up((work.role, work.milliseconds * queries / 1e3) for work in run) for run in runs]
        ),
        sent=round(sum(work.sent for work in runs[0]) * queries),
        messages=len(turns),
    )
