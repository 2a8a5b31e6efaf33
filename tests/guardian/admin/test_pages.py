"""Lists that grow with time go over the wire a thousand rows a message, and lose none."""

from ostraka.guardian.admin.exports import ROWS, pages, rows_of
from ostraka.protos.ostraka.v1 import admin_pb2


def test_a_message_has_a_thousand_rows_at_most_and_none_is_lost() -> None:
    charges = [admin_pb2.ChargeRow(batch_id=number) for number in range(2 * ROWS + 1)]
    messages = [admin_pb2.ChargeRows(rows=page) for page in pages(charges)]
    assert [len(message.rows) for message in messages] == [ROWS, ROWS, 1]
    assert list(rows_of(messages)) == charges
    assert list(pages([])) == []
