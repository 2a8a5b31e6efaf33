import threading
from contextlib import ExitStack

import pytest

from ostraka.common.errors import ErrorCode, OstrakaError, status_of
from ostraka.common.rpc.retry import TRANSIENT
from ostraka.services.hosting.admission import HELD_BYTES, OF_ONE_SITE, PLACES, Admission
from tests.fair_clock import HANGS_S


def refusal(admission: Admission, size: int = 1) -> ErrorCode:
    with pytest.raises(OstrakaError) as refused, admission.place(size, "chalkis"):
        pass
    return refused.value.code


def test_only_so_many_batches_are_under_way() -> None:
    admission = Admission(places=2)
    with ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(admission.place(1, "chalkis"))
        assert refusal(admission) is ErrorCode.SERVER_BUSY
    with admission.place(1, "chalkis"), admission.place(1, "chalkis"):
        pass


def test_one_site_leaves_places_for_others() -> None:
    admission = Admission(places=3, of_one_site=2)
    with admission.place(1, "chalkis"), admission.place(1, "chalkis"):
        assert refusal(admission) is ErrorCode.SERVER_BUSY
        with admission.place(1, "delphi"):
            pass
    with admission.place(1, "chalkis"):
        pass


def test_only_so_much_is_held() -> None:
    admission = Admission(held_bytes=100)
    with admission.place(60, "chalkis"):
        assert refusal(admission, 41) is ErrorCode.SERVER_BUSY
        with admission.place(40, "chalkis"):
            pass


def test_a_party_has_so_many_places_and_so_much_memory() -> None:
    admission = Admission()
    with ExitStack() as stack:
        for _ in range(OF_ONE_SITE):
            stack.enter_context(admission.place(0, "chalkis"))
        assert refusal(admission, 0) is ErrorCode.SERVER_BUSY
        for _ in range(PLACES - OF_ONE_SITE):
            stack.enter_context(admission.place(0, "delphi"))
        with pytest.raises(OstrakaError) as refused, admission.place(0, "athens"):
            pass
        assert refused.value.code is ErrorCode.SERVER_BUSY
    with admission.place(1, "chalkis"):
        assert refusal(admission, HELD_BYTES) is ErrorCode.SERVER_BUSY
        with admission.place(HELD_BYTES - 1, "chalkis"):
            pass


def test_a_batch_larger_than_what_is_held_has_its_turn_alone() -> None:
    admission = Admission(held_bytes=100)
    with admission.place(1, "chalkis"):
        assert refusal(admission, 101) is ErrorCode.SERVER_BUSY
    with admission.place(101, "chalkis"):
        assert refusal(admission) is ErrorCode.SERVER_BUSY


def test_a_batch_that_fails_leaves_its_place() -> None:
    admission = Admission(places=1, held_bytes=10)
    with pytest.raises(ZeroDivisionError), admission.place(10, "chalkis"):
        _ = 1 / 0
    with admission.place(10, "chalkis"):
        pass


def test_after_closing_what_is_under_way_is_waited_for_and_nothing_begins() -> None:
    admission = Admission()
    waited = threading.Thread(target=admission.wait_until_empty, args=(30,))
    with admission.place(1, "chalkis"):
        admission.close()
        assert refusal(admission) is ErrorCode.SERVER_STOPPING
        waited.start()
        assert waited.is_alive()
    waited.join(HANGS_S)
    assert not waited.is_alive()


def test_waiting_has_an_end() -> None:
    admission = Admission()
    with admission.place(1, "chalkis"):
        admission.wait_until_empty(0)


@pytest.mark.parametrize("code", [ErrorCode.SERVER_BUSY, ErrorCode.SERVER_STOPPING])
def test_callers_retry_these_refusals(code: ErrorCode) -> None:
    assert status_of(code) in {status.name for status in TRANSIENT}
