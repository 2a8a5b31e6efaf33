"""Steps again, altered, out of order, forged, cut off, and by others: what is answered and what is not."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ostraka.common.datasets import digits
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Role
from ostraka.common.rpc.steps import request_messages
from ostraka.protos.ostraka.v1 import common_pb2
from ostraka.services.encrypted.answering import KEPT
from ostraka.services.journal.journal import Journal
from ostraka.services.journal.limits import GroupCharge
from tests.fair_clock import HANGS_S
from tests.services.encrypted.conftest import encrypted
from tests.services.encrypted.querier import Encrypted, athens
from tests.services.wire import Federation, federation


def queries(attica: Federation, count: int = 5, start: int = 0) -> NDArray[np.float32]:
    return attica.task.prepare(digits().X[start : start + count])


def refusal(call: Callable[[], object], told: str | None = None) -> ErrorCode:
    with pytest.raises(OstrakaError, match=told) as refused:
        call()
    return refused.value.code


def flipped(data: bytes, place: int = 0) -> bytes:
    altered = bytearray(data)
    altered[place] ^= 1
    return bytes(altered)


@pytest.mark.heavy
def test_every_step_again_gets_the_same_bytes_and_one_share(attica: Federation) -> None:
    with attica.serving() as caller:
        asked = Encrypted(caller, queries(attica))
        request = asked.request()
        extension = asked.begin(request)
        assert asked.begin(request) == extension
        tables, logits = asked.garble(extension), asked.evaluate()
        assert (asked.garble(extension), asked.evaluate()) == (tables, logits)
        correction = asked.correction(logits)
        labels = asked.compare(correction)
        assert asked.compare(correction) == labels
        assert (asked.garble(extension), asked.evaluate()) == (tables, logits)
    assert len(attica.guardian.submissions) == 1
    with Journal(attica.party / "journal.db") as journal:
        assert journal.amount_spent(8.0) == GroupCharge(attica.plan.mechanism, 5, 10).amount(8.0)


@pytest.mark.heavy
def test_everything_is_fresh_for_every_batch(attica: Federation) -> None:
    with attica.serving() as caller:
        batches = [Encrypted(caller, queries(attica), batch_id) for batch_id in (1, 2)]
        points = [batch.stub.Begin(batch.request()).points for batch in batches]
        extensions = [batch.begin() for batch in batches]
        tables = [batch.garble(extension) for batch, extension in zip(batches, extensions, strict=True)]
    assert points[0] != points[1]
    assert tables[0] != tables[1]


@pytest.mark.heavy
@pytest.mark.parametrize("step", ["Begin", "Garble", "Evaluate", "Compare"])
def test_other_content_under_a_step_ends_the_batch(attica: Federation, step: str) -> None:
    with attica.serving() as caller:
        asked, other = (Encrypted(caller, queries(attica)) for _ in range(2))
        extension = asked.begin()
        asked.garble(extension)
        correction = asked.correction(asked.evaluate())
        asked.compare(correction)
        altered: dict[str, Callable[[], object]] = {
            "Begin": other.begin,
            "Garble": lambda: asked.garble(flipped(extension)),
            "Evaluate": lambda: asked.evaluate(other.queries),
            "Compare": lambda: asked.compare(flipped(correction)),
        }
        assert refusal(altered[step]) is ErrorCode.BATCH_ALTERED
        for call in (
            asked.begin,
            lambda: asked.garble(extension),
            asked.evaluate,
            lambda: asked.compare(correction),
        ):
            assert refusal(call) is ErrorCode.BATCH_DEAD
        Encrypted(caller, queries(attica), 2).run()


def test_a_forged_extension_ends_the_batch_before_anything_is_garbled(attica: Federation) -> None:
    with attica.serving() as caller:
        asked = Encrypted(caller, queries(attica))
        extension = asked.begin()
        assert refusal(lambda: asked.garble(flipped(extension))) is ErrorCode.CRYPTO_REFUSED
        assert refusal(lambda: asked.garble(extension)) is ErrorCode.BATCH_DEAD
        assert refusal(asked.evaluate) is ErrorCode.BATCH_DEAD
    assert not attica.guardian.submissions


def test_a_point_that_is_none_ends_the_batch(attica: Federation) -> None:
    with attica.serving() as caller:
        asked = Encrypted(caller, queries(attica))
        for point in (bytes(31), bytes(32)):
            asked.batch_id += 1
            code = refusal(partial(asked.begin, asked.request(point=point)))
            assert code in (ErrorCode.MESSAGE_INVALID, ErrorCode.CRYPTO_REFUSED)
            assert refusal(asked.begin) in (ErrorCode.BATCH_ALTERED, ErrorCode.BATCH_DEAD)


@pytest.mark.heavy
def test_queries_under_other_parameters_end_the_batch(attica: Federation) -> None:
    with attica.serving() as caller:
        asked = Encrypted(caller, queries(attica))
        foreign = Encrypted(caller, queries(attica), who=athens("square-mlp"))
        asked.begin()
        other = asked.public + foreign.keys.encrypt(foreign.X)
        assert refusal(lambda: asked.evaluate(other)) is ErrorCode.MESSAGE_TOO_LARGE
        assert refusal(lambda: asked.evaluate(other[: len(asked.queries)])) is ErrorCode.CRYPTO_REFUSED
        assert refusal(asked.evaluate) in (ErrorCode.BATCH_ALTERED, ErrorCode.BATCH_DEAD)


def test_steps_before_the_ones_they_need_are_refused_and_harm_nothing(attica: Federation) -> None:
    with attica.serving() as caller:
        asked = Encrypted(caller, queries(attica))
        correction = bytes(asked.sizes.correction)
        for call in (lambda: asked.garble(b""), asked.evaluate, lambda: asked.compare(correction)):
            assert refusal(call) is ErrorCode.BATCH_OUT_OF_ORDER
        extension = asked.begin()
        assert refusal(lambda: asked.compare(correction)) is ErrorCode.BATCH_OUT_OF_ORDER
        tables = asked.garble(extension)
        assert refusal(lambda: asked.compare(correction)) is ErrorCode.BATCH_OUT_OF_ORDER
        labels = asked.compare(asked.correction(asked.evaluate()))
        asked.share(tables, labels)


@pytest.mark.heavy
def test_garbling_and_evaluation_go_in_any_order_and_at_once(attica: Federation) -> None:
    with attica.serving() as caller, ThreadPoolExecutor(4) as pool:
        asked = Encrypted(caller, queries(attica))
        extension = asked.begin()
        logits = [pool.submit(asked.evaluate) for _ in range(2)]
        tables = [pool.submit(asked.garble, extension) for _ in range(2)]
        assert logits[0].result() == logits[1].result()
        assert tables[0].result() == tables[1].result()
        labels = asked.compare(asked.correction(logits[0].result()))
        assert asked.total(asked.share(tables[0].result(), labels)).sum() == 5 * 3


def test_concurrent_duplicates_begin_one_batch(attica: Federation) -> None:
    with attica.serving() as caller, ThreadPoolExecutor(4) as pool:
        asked = Encrypted(caller, queries(attica))
        request = asked.request()
        points = {future.points for future in pool.map(lambda _: asked.stub.Begin(request), range(4))}
    assert len(points) == 1
    with Journal(attica.party / "journal.db") as journal:
        assert len(list(journal.receipts())) == 1


def test_messages_that_are_cut_off_too_long_or_of_another_stage_are_refused_and_harm_nothing(
    attica: Federation,
) -> None:
    with attica.serving() as caller:
        asked = Encrypted(caller, queries(attica))
        extension = asked.begin()
        whole = list(request_messages(asked.step, extension))
        other = common_pb2.Step(header=common_pb2.StepHeader(session_id="session", batch_id=1))
        for messages, code in (
            (whole[:-1], ErrorCode.MESSAGE_INVALID),
            (whole[1:], ErrorCode.MESSAGE_INVALID),
            ([], ErrorCode.MESSAGE_INVALID),
            ([*whole, whole[-1]], ErrorCode.MESSAGE_TOO_LARGE),
            (list(request_messages(asked.step, extension + b"x")), ErrorCode.MESSAGE_TOO_LARGE),
            ([other, *whole[1:]], ErrorCode.MESSAGE_INVALID),
        ):
            assert refusal(partial(asked.send, "Garble", messages, 1)) is code
        asked.garble(extension)


def test_a_stream_that_the_querying_party_gives_up_goes_on_at_the_next_call(attica: Federation) -> None:
    with attica.serving() as caller:
        asked = Encrypted(caller, queries(attica))
        extension = asked.begin()
        replies = asked.stub.Evaluate(request_messages(asked.step, asked.queries))
        next(replies)
        began = next(replies).chunk.data
        replies.cancel()
        assert asked.evaluate()[: len(began)] == began
        asked.garble(extension)


def test_another_querying_party_gets_nothing_of_a_batch(attica: Federation) -> None:
    with attica.serving() as caller:
        asked = Encrypted(caller, queries(attica))
        extension = asked.begin()
        with attica.calling(caller.address, attica.issue("dodona", Role.QUERY)) as stranger:
            asked.caller = stranger
            assert refusal(lambda: asked.garble(extension)) is ErrorCode.GRANT_INVALID
            assert refusal(asked.begin) is ErrorCode.GRANT_INVALID
        for role in (Role.PARTY, Role.GUARDIAN):
            with attica.calling(caller.address, attica.issue("thebes", role)) as other:
                asked.caller = other
                for call in (asked.begin, lambda: asked.garble(extension), asked.evaluate):
                    assert refusal(call) is ErrorCode.IDENTITY_WRONG_ROLE
        asked.caller = caller
        asked.garble(extension)


def test_a_step_of_another_session_or_batch_is_out_of_order(attica: Federation) -> None:
    with attica.serving() as caller:
        asked = Encrypted(caller, queries(attica))
        extension = asked.begin()
        asked.session_id = "another"
        assert refusal(lambda: asked.garble(extension)) is ErrorCode.BATCH_OUT_OF_ORDER
        asked.session_id, asked.batch_id = "session", 2
        assert refusal(lambda: asked.garble(extension)) is ErrorCode.BATCH_OUT_OF_ORDER


def test_a_restart_in_the_middle_makes_the_batch_one_to_ask_again(attica: Federation) -> None:
    with attica.serving() as caller:
        asked = Encrypted(caller, queries(attica))
        extension = asked.begin()
    with attica.serving() as caller:
        asked.caller = caller
        for call in (asked.begin, lambda: asked.garble(extension), asked.evaluate):
            assert refusal(call) is ErrorCode.BATCH_RESTARTED
        Encrypted(caller, queries(attica), 2).run()


@pytest.mark.heavy
def test_a_session_keeps_a_few_batches_at_a_time(attica: Federation) -> None:
    with attica.serving() as caller:
        batches = [Encrypted(caller, queries(attica, 1), batch) for batch in range(KEPT + 1)]
        extensions = [batch.begin() for batch in batches]
        assert refusal(lambda: batches[0].garble(extensions[0])) is ErrorCode.BATCH_RESTARTED
        batches[1].garble(extensions[1])


@pytest.mark.heavy
def test_batches_that_are_done_stay_for_retries_until_others_are(attica: Federation) -> None:
    with attica.serving() as caller:
        done = []
        for session in range(KEPT + 1):
            asked = Encrypted(caller, queries(attica, 1), session_id=f"session-{session}")
            asked.garble(asked.begin())
            correction = asked.correction(asked.evaluate())
            done.append((asked, correction, asked.compare(correction)))
        Encrypted(caller, queries(attica, 1), session_id="next").begin()
        first, correction, _ = done.pop(0)
        assert refusal(lambda: first.compare(correction)) is ErrorCode.BATCH_RESTARTED
        for asked, correction, labels in done:
            assert asked.compare(correction) == labels


def test_a_batch_is_in_the_journal_before_its_points_leave_and_its_share_before_its_labels(
    attica: Federation,
) -> None:
    let_go = threading.Event()
    attica.guardian.on_share = lambda: let_go.wait(HANGS_S)
    with attica.serving() as caller, ThreadPoolExecutor(1) as pool:
        asked = Encrypted(caller, queries(attica))
        extension = asked.begin()
        with Journal(attica.party / "journal.db") as journal:
            assert journal.holds("session", 1)
        asked.garble(extension)
        compared = pool.submit(asked.compare, asked.correction(asked.evaluate()))
        assert not compared.done()
        let_go.set()
        compared.result()
    assert len(attica.guardian.submissions) == 1


@pytest.mark.heavy
def test_labels_stay_where_the_guardian_refuses_the_share_and_come_where_it_takes_it_later(
    attica: Federation,
) -> None:
    """What is refused for good is not sent again, as of plain votes."""
    with attica.serving() as caller:
        mended, dead = (Encrypted(caller, queries(attica), batch_id) for batch_id in (1, 2))
        corrections = []
        for asked, code in ((mended, ErrorCode.IDENTITY_EXPIRED), (dead, ErrorCode.BATCH_DEAD)):
            attica.guardian.refusal = OstrakaError(code, "Not taken.")
            asked.garble(asked.begin())
            corrections.append(asked.correction(asked.evaluate()))
            assert refusal(partial(asked.compare, corrections[-1])) is code
        attica.guardian.refusal = None
        mended.compare(corrections[0])
        assert refusal(partial(dead.compare, corrections[1]), "Not taken") is ErrorCode.BATCH_DEAD
    first, _, second = attica.guardian.submissions
    assert first == second


def test_the_cap_stops_new_batches_and_not_retries(attica: Federation) -> None:
    attica.set_policy(epsilon_cap=1.0, delta=1e-5, order_cap=64.0)
    with attica.serving() as caller:
        asked = Encrypted(caller, queries(attica, 4))
        request = asked.request()
        extension = asked.begin(request)
        late = Encrypted(caller, queries(attica, 60), 2)
        assert refusal(late.begin) is ErrorCode.PARTY_CAP_REACHED
        assert refusal(late.evaluate) is ErrorCode.BATCH_OUT_OF_ORDER
        assert asked.begin(request) == extension


def test_the_guardian_is_told_once_before_anything_evaluated_leaves(attica: Federation) -> None:
    with attica.serving() as caller:
        asked = Encrypted(caller, queries(attica))
        asked.garble(asked.begin())
        assert attica.guardian.evaluated == []
        logits = asked.evaluate()
        assert attica.guardian.evaluated == [("session", 1, "athens")]
        assert asked.evaluate() == logits
    assert attica.guardian.evaluated == [("session", 1, "athens")]


def test_nothing_is_evaluated_that_the_guardian_does_not_charge(attica: Federation) -> None:
    with attica.serving() as caller:
        asked = Encrypted(caller, queries(attica))
        asked.begin()
        attica.guardian.refuses_evaluations = OstrakaError(ErrorCode.BATCH_DEAD, "The batch is dead.")
        assert refusal(asked.evaluate) is ErrorCode.BATCH_DEAD
        attica.guardian.refuses_evaluations = None
        attica.guardian.stop()
        assert refusal(asked.evaluate) is ErrorCode.SERVER_UNREACHABLE
        attica.stop.instead = attica.bring_guardian_back
        asked.evaluate()
    assert attica.guardian.evaluated == [("session", 1, "athens")]


def test_a_batch_begins_under_the_terms_of_a_vote(attica: Federation) -> None:
    attica.set_policy(queriers=["dodona"])
    with attica.serving() as caller:
        assert refusal(Encrypted(caller, queries(attica)).begin) is ErrorCode.POLICY_REFUSED


def test_plans_for_other_encodings_heads_and_encoders_are_refused(attica: Federation) -> None:
    X = queries(attica)
    with attica.serving() as caller:
        assert refusal(lambda: caller.vote(caller.ask(X)), "with Begin") is ErrorCode.PLAN_INVALID
        assert refusal(Encrypted(caller, X, who=athens("square-mlp")).begin) is ErrorCode.TICKET_INVALID
        attica.replan(encoder="any:encoder", encoder_sha256=bytes(32))
        assert refusal(Encrypted(caller, X).begin) is ErrorCode.TASK_MISMATCH
        attica.replan(encoder="", encoder_sha256=b"", encoding="plain")
        assert refusal(Encrypted(caller, X).begin, "with Vote") is ErrorCode.PLAN_INVALID
        caller.vote(caller.ask(X))


@pytest.mark.parametrize(
    ("teachers", "encodings", "missing"),
    [
        ("linear", ("plain",), "ckks"),
        ("linear", ("plain", "ckks-square"), "ckks"),
        ("square", ("plain", "ckks"), "ckks-square"),
    ],
)
def test_encrypted_queries_are_refused_unless_the_party_names_them(
    request: pytest.FixtureRequest, tmp_path: Path, teachers: str, encodings: Sequence[str], missing: str
) -> None:
    with federation(tmp_path, request.getfixturevalue(teachers)) as made:
        encrypted(made, encodings)
        with made.serving() as caller:
            with pytest.raises(OstrakaError) as refused:
                Encrypted(caller, queries(made)).begin()
            assert refused.value.code is ErrorCode.POLICY_REFUSED
            assert f'ask its operator to add "{missing}" to policy.encodings' in refused.value.message
            made.replan(encoding="plain")
            caller.vote(caller.ask(queries(made)))


def test_a_party_may_answer_encrypted_queries_alone(tmp_path: Path, linear: Path) -> None:
    with federation(tmp_path, linear) as made:
        encrypted(made, ("ckks",))
        with made.serving() as caller:
            Encrypted(caller, queries(made)).begin()
            made.replan(encoding="plain")
            assert refusal(lambda: caller.vote(caller.ask(queries(made)))) is ErrorCode.POLICY_REFUSED


def test_teachers_that_take_no_encrypted_queries_say_what_to_do(tmp_path: Path, trained: Path) -> None:
    with federation(tmp_path, trained) as made:
        encrypted(made)
        with made.serving() as caller:
            assert refusal(Encrypted(caller, queries(made)).begin) is ErrorCode.PARTY_NOT_ENCRYPTED


def test_the_manifest_names_the_head(attica: Federation) -> None:
    with attica.serving():
        (signed,) = attica.guardian.manifests
    assert common_pb2.Manifest.FromString(signed.payload).head == "linear"


def test_nothing_secret_reaches_the_disk_or_the_log(
    attica: Federation, capfd: pytest.CaptureFixture[str]
) -> None:
    X = queries(attica, 6)
    with attica.serving() as caller:
        asked = Encrypted(caller, X)
        extension = asked.begin()
        tables, logits = asked.garble(extension), asked.evaluate()
        labels = asked.compare(asked.correction(logits))
        asked.share(tables, labels)
        written = attica.journal_bytes()
    said = "".join(capfd.readouterr())
    (_, _, _, share) = attica.guardian.submissions[0]
    for secret in (tables[:16], labels[:16], extension[:16], logits[:16], share[:16], X.tobytes()[:32]):
        assert secret not in written
        assert secret.hex() not in said
