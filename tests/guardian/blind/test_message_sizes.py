"""Batches of a blind tally are small enough for their messages to be kept whole."""

import pytest

from ostraka.common.crypto.computation import Computation
from ostraka.common.crypto.tally_circuits import answers_of
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import GnMax
from ostraka.guardian.blind.blind_tally import MAX_MESSAGE_BYTES, check_messages
from tests.guardian.federation import plan


def test_a_batch_whose_message_is_too_large_is_refused() -> None:
    blind = plan(mechanism=GnMax(sigma=4.0), tally="blind", ring_bits=32, queries=2**20)
    one = Computation.of(answers_of(blind.mechanism, blind.classes, blind.modulus), 1).sizes.labels
    fits = MAX_MESSAGE_BYTES // one
    check_messages(blind.model_copy(update={"batch_size": fits}))
    with pytest.raises(OstrakaError, match=f"ask for batches of at most {fits}\\.?$") as refused:
        check_messages(blind.model_copy(update={"batch_size": fits + 1}))
    assert refused.value.code is ErrorCode.PLAN_INVALID
