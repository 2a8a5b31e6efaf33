from ostraka.services.voting.answers import Replies, Slot


def test_a_batch_has_one_slot_until_its_grant_ends() -> None:
    replies = Replies(Slot)
    first = replies.slot(("s", 1), ends_at=100.0, now=0.0)
    assert replies.slot(("s", 1), ends_at=100.0, now=100.0) is first
    assert replies.slot(("s", 2), ends_at=300.0, now=0.0) is not first
    assert len(replies) == 2
    replies.slot(("t", 1), ends_at=300.0, now=101.0)
    assert len(replies) == 2
    assert replies.slot(("s", 1), ends_at=300.0, now=101.0) is not first


def test_a_session_keeps_its_latest_batches() -> None:
    replies = Replies(Slot, most=2)
    slots = {batch: replies.slot(("s", batch), ends_at=100.0, now=0.0) for batch in (3, 1, 2)}
    assert replies.find(("s", 3), now=0.0) is None
    other = replies.slot(("t", 1), ends_at=100.0, now=0.0)
    assert [replies.find(key, now=0.0) for key in (("s", 1), ("s", 2), ("t", 1))] == [
        slots[1],
        slots[2],
        other,
    ]
    assert replies.find(("s", 1), now=101.0) is None
