"""An open batch moves from state to state, and none follows a step that fails."""

from functools import partial

import pytest

from ostraka.client.session.batch import Ticketed
from ostraka.client.session.batches import Held, OpenBatch, Settled, State
from ostraka.client.session.run_state import BatchState
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.telemetry.context import Scope
from ostraka.protos.ostraka.v1 import common_pb2

TICKET = Ticketed(common_pb2.SignedList(), common_pb2.Ticket())


def to(state: State) -> State:
    return state


def refuse() -> State:
    raise OstrakaError(ErrorCode.STORAGE_FULL, "Free some room.")


def opened(first: State) -> OpenBatch:
    return OpenBatch(BatchState(id=1, queries=(0,)), Scope(), partial(to, first))


def test_a_batch_is_settled_once_a_step_leads_there() -> None:
    batch = opened(Held(TICKET, 0.0))
    assert not batch.is_settled
    batch.move(partial(to, Settled()))
    assert batch.is_settled


def test_no_step_follows_one_that_raises() -> None:
    batch = opened(Held(TICKET, 0.0))
    with pytest.raises(OstrakaError, match="Free some room"):
        batch.move(refuse)
    assert batch.is_settled
