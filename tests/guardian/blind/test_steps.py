"""Steps of a blind tally: in their order, once, and again with the same bytes; everything else is refused."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from ostraka.common.crypto.computation import Computation
from ostraka.common.identity import Role
from ostraka.common.mechanism import GnMax
from ostraka.common.rpc.steps import StepId, request_messages
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2
from tests.guardian.blind.querying import ANSWERS, CHECK, RING, Querying, asked, blind_plan
from tests.guardian.federation import PARTIES, Calls, plan, refusal, unanimous

QUERIES = 4


@pytest.fixture
def querying(guardian: Calls) -> Querying:
    """Return a frozen batch whose queries all pass."""
    return asked(guardian, blind_plan(), unanimous(QUERIES))


def one_bit_off(data: bytes, at: int = 0) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def reserved(guardian: Calls) -> float:
    (budget,) = guardian.budgets("a").values()
    return budget.epsilon_reserved


@pytest.mark.heavy
def test_the_same_steps_again_get_the_same_bytes(guardian: Calls, querying: Querying) -> None:
    for stage in (CHECK, ANSWERS):
        evaluation = querying.begun(stage, QUERIES)
        points = [querying.begin(stage, evaluation.point()) for _ in range(2)]
        extension = evaluation.extension(points[0])
        tables = [querying.garble(stage, extension) for _ in range(2)]
        spent = guardian.spent()
        correction = evaluation.correction(querying.words(stage))
        labels = [querying.compare(stage, correction) for _ in range(2)]
        assert (points[0], tables[0], labels[0]) == (points[1], tables[1], labels[1])
        assert querying.begin(stage, evaluation.point()) == points[0]
        assert querying.garble(stage, extension) == tables[0]
        evaluation.take(tables[0])
        evaluation.evaluate(labels[0])
        if stage == CHECK:
            opened = [querying.open_check(evaluation.labels_to_return()) for _ in range(2)]
            assert opened[0].all()
            assert opened[1].all()
        assert guardian.spent() == spent
    assert evaluation.bits()[:, 0].all()
    assert querying.garble(CHECK, querying.extension(CHECK, QUERIES))


def test_other_content_is_refused_and_changes_nothing(guardian: Calls, querying: Querying) -> None:
    evaluation = querying.begun(CHECK, QUERIES)
    other = Querying(guardian, querying.plan, querying.session, 1, querying.sums).begun(CHECK, QUERIES)
    extension = querying.extension(CHECK, QUERIES)
    evaluation.take(querying.garble(CHECK, extension))
    correction = evaluation.correction(querying.words(CHECK))
    evaluation.evaluate(querying.compare(CHECK, correction))
    passed = querying.open_check(evaluation.labels_to_return())
    for call in (
        lambda: querying.begin(CHECK, other.point()),
        lambda: querying.garble(CHECK, one_bit_off(extension)),
        lambda: querying.compare(CHECK, one_bit_off(correction)),
        lambda: querying.open_check(one_bit_off(evaluation.labels_to_return())),
    ):
        assert refusal(call) == "batch.altered"
    assert querying.answers(passed).tolist() == [1] * QUERIES


def test_base_transfers_by_ml_kem_give_the_same_answers(guardian: Calls) -> None:
    asking = asked(guardian, blind_plan(base_transfers="ml-kem"), unanimous(QUERIES))
    assert asking.answers(asking.check()).tolist() == [1] * QUERIES


@pytest.mark.heavy
def test_steps_before_the_one_they_need_are_refused(guardian: Calls, querying: Querying) -> None:
    sizes = Computation.of(querying.circuit(CHECK), QUERIES).sizes
    early: list[Callable[[], object]] = [
        lambda: querying.begin(ANSWERS, bytes(32)),
        lambda: querying.garble(ANSWERS, b""),
        lambda: querying.garble(CHECK, b""),
        lambda: querying.compare(CHECK, b""),
        lambda: querying.open_check(b""),
    ]
    for call in early:
        assert refusal(call) == "batch.out_of_order"
    extension = querying.extension(CHECK, QUERIES)
    for call in (
        lambda: querying.compare(CHECK, bytes(sizes.correction)),
        lambda: querying.open_check(bytes(sizes.returned)),
    ):
        assert refusal(call) == "batch.out_of_order"
    querying.garble(CHECK, extension)
    assert refusal(lambda: querying.open_check(bytes(sizes.returned))) == "batch.out_of_order"
    assert refusal(lambda: querying.begin(ANSWERS, bytes(32))) == "batch.out_of_order"


@pytest.mark.heavy
@pytest.mark.parametrize("by", [-1, 1])
def test_messages_of_another_size_are_refused_and_cost_nothing(
    guardian: Calls, querying: Querying, by: int
) -> None:
    def resized(data: bytes) -> bytes:
        return data + b"\0" if by > 0 else data[:-1]

    wrong = {"message.too_large"} if by > 0 else {"message.invalid"}
    evaluation = querying.begun(CHECK, QUERIES)
    assert refusal(lambda: querying.begin(CHECK, resized(evaluation.point()))) == "message.invalid"
    extension = querying.extension(CHECK, QUERIES)
    assert refusal(lambda: querying.garble(CHECK, resized(extension))) in wrong
    assert guardian.spent() == 0
    evaluation.take(querying.garble(CHECK, extension))
    correction = evaluation.correction(querying.words(CHECK))
    assert refusal(lambda: querying.compare(CHECK, resized(correction))) in wrong
    evaluation.evaluate(querying.compare(CHECK, correction))
    assert refusal(lambda: querying.open_check(resized(evaluation.labels_to_return()))) in wrong
    assert querying.answers(querying.open_check(evaluation.labels_to_return())).tolist() == [1] * QUERIES


@pytest.mark.heavy
def test_a_stream_whose_content_is_not_what_its_header_says_is_refused(querying: Querying) -> None:
    extension = querying.extension(CHECK, QUERIES)
    messages = list(request_messages(StepId(querying.session, 1, CHECK), extension))
    messages[1].chunk.data = one_bit_off(messages[1].chunk.data)
    streams: list[list[common_pb2.Step]] = [messages, messages[1:], messages[:1], []]
    for stream in streams:
        code = refusal(lambda: list(querying.guardian.query.GarbleTally(iter(stream))))  # noqa: B023
        assert code == "message.invalid"
    assert querying.garble(CHECK, extension)


@pytest.mark.parametrize("point", [bytes(32), b"\x01" + bytes(31), b"\xff" * 32], ids=["zero", "one", "none"])
def test_a_point_that_is_none_kills_the_batch_uncharged(
    guardian: Calls, querying: Querying, point: bytes
) -> None:
    assert refusal(lambda: querying.begin(CHECK, point)) == "crypto.refused"
    assert refusal(lambda: querying.begin(CHECK, point)) == "batch.dead"
    assert (guardian.spent(), reserved(guardian)) == (0, 0)


@pytest.mark.heavy
def test_a_forged_transfer_kills_the_batch_uncharged(guardian: Calls, querying: Querying) -> None:
    extension = querying.extension(CHECK, QUERIES)
    assert refusal(lambda: querying.garble(CHECK, one_bit_off(extension))) == "crypto.refused"
    assert refusal(lambda: querying.garble(CHECK, extension)) == "batch.dead"
    assert (guardian.spent(), reserved(guardian)) == (0, 0)
    assert not guardian.settle(querying.session, 1).released


@pytest.mark.heavy
def test_a_forged_label_opens_nothing_and_the_charge_stands(guardian: Calls, querying: Querying) -> None:
    evaluation = querying.evaluate(CHECK, querying.words(CHECK))
    spent = guardian.spent()
    assert (
        refusal(lambda: querying.open_check(one_bit_off(evaluation.labels_to_return(), 17)))
        == "crypto.refused"
    )
    assert refusal(lambda: querying.open_check(evaluation.labels_to_return())) == "batch.dead"
    assert guardian.spent() == spent > 0
    assert reserved(guardian) == 0


@pytest.mark.heavy
def test_a_forged_transfer_of_answers_leaves_the_checks_charge(guardian: Calls, querying: Querying) -> None:
    passed = querying.check()
    spent = guardian.spent()
    extension = querying.extension(ANSWERS, int(passed.sum()))
    assert refusal(lambda: querying.garble(ANSWERS, one_bit_off(extension))) == "crypto.refused"
    assert guardian.spent() == spent
    assert not guardian.settle(querying.session, 1).released


def test_a_batch_needs_a_frozen_party_set(guardian: Calls) -> None:
    asking = blind_plan()
    session = guardian.open(asking).session_id
    guardian.ticket(session, 1, QUERIES)
    querying = Querying(guardian, asking, session, 1, RING.wrap(np.zeros((QUERIES, 4), dtype=np.int64)))
    assert refusal(lambda: querying.begin(CHECK, bytes(32))) == "batch.not_frozen"


@pytest.mark.heavy
def test_each_tally_has_its_own_steps(guardian: Calls, querying: Querying) -> None:
    assert refusal(lambda: guardian.release(querying.session, 1, querying.sums)) == "batch.out_of_order"
    in_the_clear = guardian.open(plan(nonce=b"m" * 16)).session_id
    guardian.ticket(in_the_clear, 1, QUERIES)
    total = guardian.vote(in_the_clear, 1, unanimous(QUERIES))
    other = Querying(guardian, querying.plan, in_the_clear, 1, total)
    assert refusal(lambda: other.begin(CHECK, bytes(32))) == "batch.out_of_order"
    assert refusal(lambda: other.garble(CHECK, b"")) == "batch.out_of_order"
    assert len(guardian.release(in_the_clear, 1, total)) == QUERIES


@pytest.mark.heavy
def test_a_mechanism_without_a_check_has_no_such_stage(guardian: Calls) -> None:
    querying = asked(guardian, blind_plan(mechanism=GnMax(sigma=1.0)), unanimous(QUERIES))
    assert refusal(lambda: querying.begin(CHECK, bytes(32))) == "batch.out_of_order"
    assert querying.answers().tolist() == [1] * QUERIES


@pytest.mark.parametrize("stage", [common_pb2.STAGE_UNSPECIFIED, common_pb2.STAGE_BALLOTS])
def test_a_stage_of_something_else_is_refused(querying: Querying, stage: common_pb2.Stage) -> None:
    assert refusal(lambda: querying.begin(stage, bytes(32))) == "message.invalid"
    assert refusal(lambda: querying.garble(stage, b"")) == "message.invalid"


@pytest.mark.heavy
def test_only_the_check_is_opened(guardian: Calls, querying: Querying) -> None:
    querying.answers(querying.check())
    step = StepId(querying.session, 1, ANSWERS)
    call = guardian.query.OpenCheck
    assert refusal(lambda: call(request_messages(step, b""))) == "message.invalid"


def test_a_tally_belongs_to_whoever_opened_the_session(guardian: Calls, querying: Querying) -> None:
    request = guardian_pb2.BeginTallyRequest(
        session_id=querying.session, batch_id=1, stage=CHECK, point=bytes(32)
    )
    assert refusal(lambda: guardian.stub("other", Role.QUERY).BeginTally(request)) == "session.unknown"
    assert refusal(lambda: guardian.stub("a", Role.PARTY).BeginTally(request)) == "identity.wrong_role"
    for method in ("GarbleTally", "CompareTally"):
        stub = getattr(guardian.stub("a", Role.PARTY), method)
        assert refusal(lambda: list(stub(_nothing()))) == "identity.wrong_role"  # noqa: B023
    assert refusal(lambda: guardian.stub("a", Role.PARTY).OpenCheck(_nothing())) == "identity.wrong_role"


def _nothing() -> Iterator[common_pb2.Step]:
    return iter(())


@pytest.mark.heavy
def test_a_batch_is_kept_until_settled_or_its_session_closed(guardian: Calls, querying: Querying) -> None:
    querying.answers(querying.check())
    settled = guardian.settle(querying.session, 1)
    assert settled.released
    assert refusal(lambda: querying.extension(CHECK, QUERIES)) == "batch.dead"
    guardian.ticket(querying.session, 2, QUERIES)
    guardian.vote(querying.session, 2, unanimous(QUERIES), PARTIES, RING)
    again = Querying(guardian, querying.plan, querying.session, 2, querying.sums)
    extension = again.extension(CHECK, QUERIES)
    guardian.query.CloseSession(guardian_pb2.CloseSessionRequest(session_id=querying.session))
    assert refusal(lambda: again.garble(CHECK, extension)) == "batch.dead"
