"""Receipts are told in messages of so many each."""

from collections.abc import Iterator
from typing import cast

import pytest

from ostraka.common.identity import Credentials
from ostraka.protos.ostraka.v1 import common_pb2
from ostraka.services.journal.journal import AT_ONCE, Journal, receipts
from ostraka.services.journal.limits import GroupCharge
from tests.services.journal.test_journal import CHARGE
from tests.services.wire import Federation


class Charged:
    """A journal with so many charges, and two numbers of votes of one person."""

    def __init__(self, count: int) -> None:
        self.count = count

    def receipts(self) -> Iterator[tuple[str, int, GroupCharge]]:
        return (("s", batch, CHARGE) for batch in range(self.count))

    def list_declared_votes(self) -> list[int]:
        return [2, 1]


@pytest.mark.parametrize(("count", "sizes"), [(0, [0]), (AT_ONCE, [AT_ONCE]), (AT_ONCE + 1, [AT_ONCE, 1])])
def test_a_message_has_so_many_receipts_and_no_more(attica: Federation, count: int, sizes: list[int]) -> None:
    own = Credentials.load(attica.party)
    told = [
        common_pb2.Receipts.FromString(request.receipts.payload)
        for request in receipts(cast(Journal, Charged(count)), own)
    ]
    assert [len(part.receipts) for part in told] == sizes
    assert [one.batch_id for part in told for one in part.receipts] == list(range(count))
    assert [votes for part in told for votes in part.declared_votes] == [2, 1]
