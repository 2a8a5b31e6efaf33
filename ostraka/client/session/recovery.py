"""Recovery of batches that failed or were left open: ask the guardian for their state, and store it."""

from ostraka.client.peers.guardian_peer import GuardianPeer
from ostraka.client.session.answers import Answer, answer_mask, read_answers
from ostraka.client.session.run_state import BatchState, RunStore
from ostraka.common.crypto.tally_circuits import check_of
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.plan.plan import Plan
from ostraka.protos.ostraka.v1 import guardian_pb2

NEVER_RELEASED = frozenset(
    {
        ErrorCode.BATCH_DEAD,
        ErrorCode.SESSION_CLOSED,
        ErrorCode.SESSION_ENDED,
        ErrorCode.SESSION_UNKNOWN,
    }
)
"""Refusals to settle a batch that mean that it has no answers."""
SESSION_OVER = frozenset({ErrorCode.BATCH_FORGOTTEN, ErrorCode.GRANT_EXPIRED, ErrorCode.SESSION_ENDED})
"""Refusals that end a session but not its run: the released answers stay, and are the run's result.

The guardian drops answers after their grant has ended.
"""


def settle(guardian: GuardianPeer, store: RunStore, batch: BatchState, plan: Plan) -> list[Answer] | None:
    """Return the answers of a batch, for the caller to store; or None, and its queries are pending again.

    The guardian cannot send answers of a blind tally again, because it never knew them, nor answers that it
    has dropped. Such a batch is stored as lost, with its cost, if it was or may have been charged.
    """
    known = store.batch(batch.id)
    try:
        stored = find_answers(guardian, store.state.session_id, known.id)
    except OstrakaError as error:
        if error.code is not ErrorCode.BATCH_FORGOTTEN:
            raise
        # Nobody can tell any more which of its answers were charged, so all count.
        store.record_loss(known, [[True] * plan.mechanism.answers(plan.classes)] * len(known.queries))
        return None
    answers = None if stored is None else read_answers(stored, len(known.queries), plan)
    if plan.tally == "aggregate":
        if answers is None:
            store.record_death(known)
        return answers
    nothing: list[Answer] = [None] * len(known.queries)
    if answers is not None:
        store.record_loss(known, answer_mask(answers, plan).tolist())
    elif known.tallied and check_of(plan.mechanism, plan.classes, plan.modulus) is not None:
        store.record_loss(known, answer_mask(nothing, plan).tolist())
    else:
        store.record_death(known)
    return None


def find_answers(guardian: GuardianPeer, session_id: str, batch_id: int) -> list[guardian_pb2.Answer] | None:
    """Return the answers stored for a batch, or None if it was not released and never will be."""
    try:
        return guardian.settle(session_id, batch_id)
    except OstrakaError as error:
        if error.code not in NEVER_RELEASED:
            raise
        return None


def close(guardian: GuardianPeer, session_id: str) -> None:
    """Close a session; do nothing if it has ended."""
    try:
        guardian.close_session(session_id)
    except OstrakaError as error:
        if error.code not in NEVER_RELEASED:
            raise
