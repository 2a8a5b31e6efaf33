from services.replies import Replies


def test_a_batch_has_one_slot_until_its_grant_ends() -> None:
    replies = Replies()
    first = replies.slot(("s", 1), ends_at=100.0, now=0.0)
    assert replies.slot(("s", 1), ends_at=100.0, now=100.0) is first
    assert replies.slot(("s", 2), ends_at=300.0, now=0.0) is not first
    assert len(replies) == 2
    replies.slot(("t", 1), ends_at=300.0, now=101.0)
    assert len(replies) == 2
    assert replies.slot(("s", 1), ends_at=300.0, now=101.0) is not first
