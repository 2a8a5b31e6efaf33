"""Errors of the coordinator about batches."""

from ostraka.common.console.texts import count_text
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.plan.plan import Plan


def check_size(plan: Plan, size: int) -> None:
    """Raise `batch.too_large`, or `message.invalid` for only some of queries that must be asked together."""
    if not 0 < size <= plan.batch_size:
        raise OstrakaError(
            ErrorCode.BATCH_TOO_LARGE,
            f"A batch of {count_text(size, 'query', 'queries')} was asked for;"
            f" the plan allows 1 to {plan.batch_size}.",
        )
    if plan.mechanism.by_record and size != plan.queries and not plan.releases_sums:
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            f"Mechanism {plan.mechanism.kind} asks all {plan.queries} queries in one batch, not {size}.",
        )


def without_smaller(error: OstrakaError, plan: Plan) -> OstrakaError:
    """Return the error for a too costly batch of records: a smaller one costs the same and is not offered."""
    by_record = plan.mechanism.by_record and not plan.releases_sums
    if error.code is not ErrorCode.BUDGET_TOO_SMALL or not by_record:
        return error
    return OstrakaError(
        error.code,
        "The batch costs more than what is left of a budget, however few queries it asks; ask for more noise,"
        " or a smaller epsilon of randomised labels.",
    )


def not_open() -> OstrakaError:
    """Return the error for a batch whose shares this process does not hold."""
    return OstrakaError(
        ErrorCode.BATCH_DEAD,
        "This batch is not open (unknown, settled, or from before a restart of the guardian);"
        " settle it and ask its queries again under a new batch id.",
    )


def no_ticket(batch_id: int) -> OstrakaError:
    """Return the error for a batch that was never opened."""
    return OstrakaError(
        ErrorCode.TICKET_INVALID, f"Batch {batch_id} has no ticket; label again, which opens another."
    )


def takes_no_sum() -> OstrakaError:
    """Return the error for a sum that the guardian must not see."""
    return OstrakaError(
        ErrorCode.BATCH_OUT_OF_ORDER,
        "This session's tally is blind; send no sum, and tally the batch with BeginTally instead of Release.",
    )


def nothing_released() -> OstrakaError:
    """Return the error for the sum of a round that released none."""
    return OstrakaError(
        ErrorCode.BATCH_OUT_OF_ORDER,
        "This batch has released no sum; settle it, and if it is dead train the round again under a new"
        " batch id.",
    )


def no_budget_left() -> OstrakaError:
    """Return the error if too few parties are left that can pay for one more query."""
    return OstrakaError(
        ErrorCode.BUDGET_TOO_SMALL,
        "So many budgets are used up that fewer parties are left than the quorum requires; no further "
        "query fits.",
        fits="0",
    )


def session_ended() -> OstrakaError:
    """Return the error for an ended session; it must say only that the session ended."""
    return OstrakaError(ErrorCode.SESSION_ENDED, "The session has ended; keep what was released.")


def not_encrypted() -> OstrakaError:
    """Return the error for an evaluation in a session with plain queries."""
    return OstrakaError(
        ErrorCode.BATCH_OUT_OF_ORDER,
        "This session's queries are plain; send shares of votes with SubmitBallots, and no evaluation.",
    )
