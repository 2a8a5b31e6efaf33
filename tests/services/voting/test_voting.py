from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from ostraka.common.datasets import digits
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Role
from ostraka.common.sharing.ballots import single_label
from ostraka.services.hosting.prediction_thread import MICRO_BATCH
from ostraka.services.journal.journal import Journal
from ostraka.services.journal.limits import GroupCharge
from ostraka.services.teachers import Ensemble
from tests.services.wire import TEACHERS, Ask, Caller, Federation, participant, scheduled


def queries(attica: Federation, count: int, start: int = 0) -> NDArray[np.float32]:
    return attica.task.prepare(digits().X[start : start + count])


def counts(attica: Federation, X: NDArray[np.float32]) -> NDArray[np.int64]:
    votes = Ensemble.load(attica.party / "teachers").predict(X)
    return single_label(votes, attica.plan.classes)


def refusal(caller: Caller, ask: Ask) -> ErrorCode:
    with pytest.raises(OstrakaError) as refused:
        caller.vote(ask)
    return refused.value.code


def test_seed_and_share_add_up_to_the_ballots_over_several_micro_batches(attica: Federation) -> None:
    X = queries(attica, MICRO_BATCH + 7)
    with attica.serving() as caller:
        reply = caller.vote(caller.ask(X))
        assert np.array_equal(caller.ballots(reply), counts(attica, X))


def test_every_batch_has_a_seed_of_its_own(attica: Federation) -> None:
    X = queries(attica, 4)
    with attica.serving() as caller:
        seeds = {caller.vote(caller.ask(X, batch)).seed for batch in range(5)}
    assert len(seeds) == 5
    assert {len(seed) for seed in seeds} == {32}


def test_queries_that_are_not_scheduled_get_zero_ballots(attica: Federation) -> None:
    X, votes = queries(attica, 11), np.arange(11) % 3 == 0
    schedule = scheduled(participant("athens"), np.packbits(votes).tobytes())
    with attica.serving() as caller:
        ask = replace(caller.ask(X), ticket=caller.ticket(1, 11, schedule=[schedule]))
        ballots = caller.ballots(caller.vote(ask))
    assert np.array_equal(ballots, counts(attica, X) * votes[:, None])
    with Journal(attica.party / "journal.db") as journal:
        assert journal.amount_spent(8.0) == GroupCharge(attica.plan.mechanism, 4, 10).amount(8.0)


def test_a_retry_gets_the_same_bytes_and_costs_nothing(attica: Federation) -> None:
    with attica.serving() as caller:
        ask = caller.ask(queries(attica, 20))
        first, second = (caller.vote(ask).SerializeToString() for _ in range(2))
        again = replace(ask, grant=caller.grant(expires_unix_s=2**37), ticket=caller.ticket(1, 20))
        third = caller.vote(again).SerializeToString()
    assert first == second == third
    assert len(attica.guardian.submissions) == 1
    with Journal(attica.party / "journal.db") as journal:
        assert journal.amount_spent(8.0) == GroupCharge(attica.plan.mechanism, 20, 10).amount(8.0)


def test_other_content_under_an_answered_batch_is_refused(attica: Federation) -> None:
    X = queries(attica, 20)
    with attica.serving() as caller:
        ask = caller.ask(X)
        reply = caller.vote(ask)
        altered = X.copy()
        altered[3, 5] = 1 - altered[3, 5]
        half = scheduled(participant("athens"), b"\xff\x00\x00")
        assert refusal(caller, replace(ask, features=altered)) is ErrorCode.BATCH_ALTERED
        assert (
            refusal(caller, replace(ask, ticket=caller.ticket(1, 20, schedule=[half])))
            is ErrorCode.BATCH_ALTERED
        )
        assert caller.vote(ask) == reply
    assert len(attica.guardian.submissions) == 1


def test_a_batch_answered_before_a_restart_is_asked_again_under_a_new_id(attica: Federation) -> None:
    X = queries(attica, 5)
    with attica.serving() as caller:
        seed = caller.vote(caller.ask(X)).seed
    with attica.serving() as caller:
        assert refusal(caller, caller.ask(X)) is ErrorCode.BATCH_RESTARTED
        assert caller.vote(caller.ask(X, batch_id=2)).seed != seed
        assert refusal(caller, caller.ask(X)) is ErrorCode.BATCH_RESTARTED


def test_a_batch_is_in_the_journal_before_its_share_leaves(attica: Federation) -> None:
    def look() -> None:
        with Journal(attica.party / "journal.db") as journal:
            seen.append(journal.holds("session", 1))

    seen: list[bool] = []
    attica.guardian.on_share = look
    with attica.serving() as caller:
        caller.vote(caller.ask(queries(attica, 2)))
    assert seen == [True]


def test_concurrent_duplicates_are_voted_on_once(attica: Federation) -> None:
    with attica.serving() as caller, ThreadPoolExecutor(8) as pool:
        ask = caller.ask(queries(attica, 200))
        replies = list(pool.map(lambda _: caller.vote(ask).SerializeToString(), range(8)))
    assert len(set(replies)) == 1
    assert len(attica.guardian.submissions) == 1


def test_concurrent_alterations_of_one_batch_have_one_winner(attica: Federation) -> None:
    def vote(start: int) -> ErrorCode | bytes:
        try:
            return caller.vote(caller.ask(queries(attica, 50, start))).seed
        except OstrakaError as exc:
            return exc.code

    with attica.serving() as caller, ThreadPoolExecutor(6) as pool:
        outcomes = list(pool.map(vote, range(6)))
    assert outcomes.count(ErrorCode.BATCH_ALTERED) == 5
    assert len(attica.guardian.submissions) == 1


def test_a_share_waits_for_a_guardian_that_comes_back(attica: Federation) -> None:
    X = queries(attica, 5)
    with attica.serving() as caller:
        attica.guardian.stop()
        attica.stop.instead = attica.bring_guardian_back
        assert np.array_equal(caller.ballots(caller.vote(caller.ask(X))), counts(attica, X))


def test_a_share_that_found_no_guardian_is_submitted_by_the_retry(attica: Federation) -> None:
    X = queries(attica, 5)
    with attica.serving() as caller:
        ask = caller.ask(X)
        attica.guardian.stop()
        assert refusal(caller, ask) is ErrorCode.SERVER_UNREACHABLE
        attica.guardian.start()
        attica.stop.instead = attica.stop.pause
        assert np.array_equal(caller.ballots(caller.vote(ask)), counts(attica, X))
    with Journal(attica.party / "journal.db") as journal:
        assert journal.amount_spent(8.0) == GroupCharge(attica.plan.mechanism, 5, 10).amount(8.0)


def test_the_guardians_refusal_reaches_the_querying_party_and_the_share_stays_the_same(
    attica: Federation,
) -> None:
    with attica.serving() as caller:
        ask = caller.ask(queries(attica, 5))
        attica.guardian.refusal = OstrakaError(ErrorCode.TICKET_INVALID, "Ask again with the ticket.")
        assert refusal(caller, ask) is ErrorCode.TICKET_INVALID
        attica.guardian.refusal = None
        caller.vote(ask)
    first, second = attica.guardian.submissions
    assert first == second


def test_features_that_are_no_numbers_or_out_of_range_are_refused_before_anything_is_kept(
    attica: Federation,
) -> None:
    X = queries(attica, 5)
    with attica.serving() as caller:
        for value, code in (
            (np.nan, ErrorCode.DATA_NAN),
            (np.inf, ErrorCode.DATA_NAN),
            (16.0, ErrorCode.TASK_MISMATCH),
            (-1.0, ErrorCode.TASK_MISMATCH),
        ):
            wrong = X.copy()
            wrong[2, 7] = value
            assert refusal(caller, caller.ask(wrong)) is code
        caller.vote(caller.ask(X))


def test_features_that_are_not_as_announced_are_refused(attica: Federation) -> None:
    X = queries(attica, 5)
    with attica.serving() as caller:
        ask = caller.ask(X)
        data = X.tobytes()
        assert refusal(caller, replace(ask, data=data[:-1])) is ErrorCode.MESSAGE_INVALID
        assert refusal(caller, replace(ask, data=data + b"x")) is ErrorCode.MESSAGE_TOO_LARGE
        assert refusal(caller, replace(ask, sha256=bytes(32))) is ErrorCode.MESSAGE_INVALID
        assert refusal(caller, replace(ask, features=X[:, 1:])) is ErrorCode.DATA_SHAPE
    assert not attica.guardian.submissions


def test_the_cap_stops_new_batches_and_not_retries(attica: Federation) -> None:
    attica.set_policy(epsilon_cap=1.0, delta=1e-5, order_cap=64.0)
    X = queries(attica, 4)
    with attica.serving() as caller:
        answered = [caller.vote(caller.ask(X, batch)) for batch in (1, 2)]
        assert refusal(caller, caller.ask(queries(attica, 40), 3)) is ErrorCode.PARTY_CAP_REACHED
        assert [caller.vote(caller.ask(X, batch)) for batch in (1, 2)] == answered
    with attica.serving() as caller:
        assert refusal(caller, caller.ask(queries(attica, 40), 3)) is ErrorCode.PARTY_CAP_REACHED
    assert len(attica.guardian.submissions) == 2


def test_a_policy_of_few_queriers_and_many_parties_is_kept(attica: Federation) -> None:
    attica.set_policy(queriers=["dodona"])
    with attica.serving() as caller:
        assert refusal(caller, caller.ask(queries(attica, 2))) is ErrorCode.POLICY_REFUSED
    text = (attica.party / "site.toml").read_text()
    (attica.party / "site.toml").write_text(text.replace('queriers = ["dodona"]', "min_parties = 3"))
    with attica.serving() as caller:
        assert refusal(caller, caller.ask(queries(attica, 2))) is ErrorCode.POLICY_REFUSED


def test_audit_heads_that_the_guardian_signed_are_kept(attica: Federation) -> None:
    with attica.serving() as caller:
        caller.vote(caller.ask(queries(attica, 2), 1))
        caller.vote(caller.ask(queries(attica, 2), 2))
        attica.guardian.signer = attica.issue("thebes", Role.PARTY)
        caller.vote(caller.ask(queries(attica, 2), 3))
    with Journal(attica.party / "journal.db") as journal:
        head = journal.audit_head()
    assert head is not None
    assert (head.sequence, attica.guardian.sequence) == (3, 4)
    assert head.signed.payload == head.sequence.to_bytes(8, "big") + head.hash


def test_nothing_secret_reaches_the_disk_or_the_log(
    attica: Federation, capfd: pytest.CaptureFixture[str]
) -> None:
    X = queries(attica, TEACHERS)
    with attica.serving() as caller:
        seed = caller.vote(caller.ask(X)).seed
        written = attica.journal_bytes()
    (_, _, _, share) = attica.guardian.submissions[0]
    said = "".join(capfd.readouterr())
    for secret in (seed, share[:32], X.tobytes()[:64]):
        assert secret not in written
        assert secret.hex() not in said
