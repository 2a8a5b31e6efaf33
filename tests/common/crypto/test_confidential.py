"""What both sides of confidential steps agree on."""

import itertools

import pytest

from ostraka.common.crypto.transcripts import (
    ballots_binding,
    frame_keys,
    read_encrypted_queries,
    tally_binding,
)
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.protos.ostraka.v1 import common_pb2


def test_no_two_computations_are_bound_alike() -> None:
    ballots = [ballots_binding(*of) for of in itertools.product(("s", "t"), (1, 12), ("a", "b"))]
    stages = common_pb2.STAGE_CHECK, common_pb2.STAGE_ANSWERS
    tallies = [tally_binding(*of) for of in itertools.product(("s", "t"), (1, 12), stages)]
    assert len(set(ballots + tallies)) == len(ballots + tallies) == 16


@pytest.mark.parametrize(("public", "ciphertexts"), [(b"keys", b"queries"), (b"", b""), (b"k", b"")])
def test_keys_and_queries_travel_together(public: bytes, ciphertexts: bytes) -> None:
    assert read_encrypted_queries(frame_keys(public) + ciphertexts) == (public, ciphertexts)


@pytest.mark.parametrize("data", [b"", bytes(7), b"\x05" + bytes(7) + b"keys", b"\xff" * 8])
def test_keys_that_are_cut_off_are_refused(data: bytes) -> None:
    with pytest.raises(OstrakaError) as refused:
        read_encrypted_queries(data)
    assert refused.value.code is ErrorCode.MESSAGE_INVALID
