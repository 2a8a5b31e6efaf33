"""What holds queries, shares or messages shows none of them."""

import numpy as np
import pytest

from ostraka.client.peers.party_peer import VoteBatch
from ostraka.client.peers.retry import StepCall
from ostraka.client.session.batch import Queries
from ostraka.client.session.votes import CollectedShares
from ostraka.common.plan.signed_lists import SignedEntries
from ostraka.common.rpc.steps import StepId
from ostraka.protos.ostraka.v1 import common_pb2

SECRET = np.full((2, 2), 77_777)
NOTHING = SignedEntries(common_pb2.SignedList(), ())
STEP = StepId("s", 1, common_pb2.STAGE_BALLOTS)


@pytest.mark.parametrize(
    "holder",
    [
        Queries(SECRET.astype(np.float32), SECRET.astype(np.uint32)),
        VoteBatch(b"", 1, NOTHING, NOTHING, SECRET.astype(np.float32)),
        CollectedShares({"a": SECRET.astype(np.uint32)}, {}),
        StepCall(STEP, b"77777", 0, bytes),
    ],
    ids=lambda holder: type(holder).__name__,
)
def test_it_is_not_in_the_repr(holder: object) -> None:
    assert "77777" not in repr(holder)
