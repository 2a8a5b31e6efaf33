"""Rounds of a training over mTLS: what the two shares add up to, what it costs, which variates count."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.services.journal.journal import Journal
from ostraka.services.journal.limits import GroupCharge
from tests.services.training.lead import (
    BY_PARTY,
    BY_RECORD,
    CLASSES,
    PARAMETERS,
    Training,
    average,
    refusal,
)


def test_a_party_says_what_it_trains_and_from_where(noisy: Training) -> None:
    with noisy.serving() as lead:
        header, parameters = lead.join("dp_ttac")
    assert (header.model, header.parameters) == ("logistic", PARAMETERS)
    assert header.task_digest == noisy.made.task.digest
    assert np.array_equal(parameters, noisy.untrained())


def test_only_a_training_of_its_own_kind_is_joined(noisy: Training) -> None:
    with noisy.serving() as lead, pytest.raises(OstrakaError, match="is by ttac and this") as refused:
        lead.join("ttac")
    assert refused.value.code is ErrorCode.PLAN_INVALID


@pytest.mark.parametrize("mechanism", [BY_RECORD, BY_PARTY])
def test_seed_and_share_add_up_to_the_update(noisy: Training, mechanism: Any) -> None:
    noisy.made.replan(mechanism=mechanism)
    with noisy.serving() as lead:
        sent = lead.round(1, round=2)
        update = lead.update(1, round=2)
    assert np.array_equal(update, noisy.expected(sent)[0])
    assert update.any()
    assert noisy.steps == [(3, 5)]


def test_an_update_without_guarantee_adds_up_too(plain: Training) -> None:
    with plain.serving() as lead:
        assert np.array_equal(lead.update(1), plain.expected(lead.round(1))[0])


def test_a_round_is_charged_once_whatever_the_retries(noisy: Training) -> None:
    with noisy.serving() as lead:
        sent = lead.round(1)
        first = lead.train(sent).SerializeToString()
        again = replace(sent, grant=lead.grant(expires_unix_s=2**37), ticket=lead.ticket(1))
        assert [lead.train(one).SerializeToString() for one in (sent, again)] == [first, first]
    assert len(noisy.made.guardian.submissions) == 1
    with Journal(noisy.made.party / "journal.db") as journal:
        assert journal.amount_spent(8.0) == GroupCharge(BY_RECORD, 1, CLASSES).amount(8.0) > 0


def test_without_guarantee_rounds_cost_nothing_and_are_known_all_the_same(plain: Training) -> None:
    with plain.serving() as lead:
        lead.update(1)
    assert plain.journaled() == 1
    with Journal(plain.made.party / "journal.db") as journal:
        assert journal.amount_spent(8.0) == 0


def test_a_party_takes_no_round_beyond_its_own_cap(noisy: Training) -> None:
    noisy.made.set_policy(epsilon_cap=0.01, delta=1e-6, order_cap=8.0)
    with noisy.serving() as lead:
        assert refusal(lead, lead.round(1)) is ErrorCode.PARTY_CAP_REACHED
    assert noisy.journaled() == len(noisy.made.guardian.submissions) == 0


def test_variates_are_those_of_the_last_round_that_counted(plain: Training) -> None:
    with plain.serving() as lead:
        first = lead.round(1)
        update, after = plain.expected(first)
        assert np.array_equal(lead.update(1), update)

        lost: dict[str, Any] = {"theta": average(3), "c": average(4), "round": 1, "counted": 1}
        assert np.array_equal(lead.update(2, **lost), plain.expected(lead.round(2, **lost), after)[0])

        again: dict[str, Any] = {"theta": average(5), "c": average(6), "round": 1, "counted": 1}
        update, next_ = plain.expected(lead.round(3, **again), after)
        assert np.array_equal(lead.update(3, **again), update)

        last: dict[str, Any] = {"theta": average(7), "c": average(8), "round": 2, "counted": 3}
        assert np.array_equal(lead.update(4, **last), plain.expected(lead.round(4, **last), next_)[0])
        assert not np.array_equal(next_, after)


def test_a_first_round_that_did_not_count_leaves_no_variates(plain: Training) -> None:
    with plain.serving() as lead:
        lead.update(1)
        assert np.array_equal(lead.update(2), plain.expected(lead.round(2))[0])


@pytest.mark.parametrize(("told", "unknown"), [(None, 2), (1, None), (1, 3)])
def test_a_round_that_counted_and_is_not_known_is_refused(
    noisy: Training, told: int | None, unknown: int | None
) -> None:
    with noisy.serving() as lead:
        lead.update(1)
        if told is not None:
            lead.update(2, round=1, counted=told)
        rounds = noisy.journaled()
        assert refusal(lead, lead.round(7, round=1, counted=unknown)) is ErrorCode.BATCH_OUT_OF_ORDER
        assert noisy.journaled() == rounds
        lead.update(8, round=1, counted=1)


def test_the_round_before_the_last_that_counted_counts_no_more(plain: Training) -> None:
    with plain.serving() as lead:
        lead.update(1)
        lead.update(2, round=1, counted=1)
        lead.update(3, round=2, counted=2)
        assert refusal(lead, lead.round(4, round=2, counted=1)) is ErrorCode.BATCH_OUT_OF_ORDER


def test_another_session_begins_without_variates(plain: Training) -> None:
    with plain.serving() as lead:
        lead.update(1)
        lead.update(2, round=1, counted=1)
        assert refusal(lead, lead.round(3, "other", counted=1)) is ErrorCode.BATCH_OUT_OF_ORDER
        assert np.array_equal(lead.update(3, session_id="other"), plain.expected(lead.round(3))[0])
        assert refusal(lead, lead.round(4, round=2, counted=2)) is ErrorCode.BATCH_OUT_OF_ORDER


@pytest.mark.parametrize(
    "changes",
    [{"theta": average(9)}, {"c": average(9)}, {"round": 1}, {"counted": 1}],
    ids=["theta", "c", "round", "counted"],
)
def test_other_content_under_an_answered_batch_is_refused(noisy: Training, changes: dict[str, Any]) -> None:
    with noisy.serving() as lead:
        sent = lead.round(1)
        reply = lead.train(sent)
        assert refusal(lead, replace(sent, **changes)) is ErrorCode.BATCH_ALTERED
        assert lead.train(sent) == reply
    assert len(noisy.made.guardian.submissions) == 1


def test_an_average_with_a_flipped_bit_or_of_another_length_is_refused(noisy: Training) -> None:
    with noisy.serving() as lead:
        whole = np.concatenate([average(1), average(2)]).tobytes()
        flipped = whole[:17] + bytes([whole[17] ^ 4]) + whole[18:]
        assert refusal(lead, replace(lead.round(1), data=flipped)) is ErrorCode.MESSAGE_INVALID
        assert refusal(lead, replace(lead.round(1), data=whole[:-4])) is ErrorCode.MESSAGE_INVALID
        assert refusal(lead, replace(lead.round(1), data=whole + b"\0")) is ErrorCode.MESSAGE_TOO_LARGE
    assert noisy.journaled() == 0


@pytest.mark.parametrize("part", ["theta", "c"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_average_that_is_no_number_is_refused(noisy: Training, part: str, value: float) -> None:
    values = average(1)
    values[4] = value
    broken: dict[str, Any] = {part: values}
    with noisy.serving() as lead:
        assert refusal(lead, lead.round(1, **broken)) is ErrorCode.DATA_NAN
        with pytest.raises(OstrakaError) as refused:
            lead.finish(lead.last(**broken))
        assert refused.value.code is ErrorCode.DATA_NAN
    assert noisy.journaled() == len(noisy.trained) == 0


def test_a_round_after_the_plans_last_is_refused(noisy: Training) -> None:
    with noisy.serving() as lead:
        assert refusal(lead, lead.round(1, round=4)) is ErrorCode.MESSAGE_INVALID
        lead.update(1, round=3)


def test_a_round_without_a_header_is_refused(noisy: Training) -> None:
    with noisy.serving() as lead:
        sent = lead.round(1)
        _, *chunks = sent.messages()
        sent.messages = lambda: iter(chunks)  # type: ignore[method-assign]
        assert refusal(lead, sent) is ErrorCode.MESSAGE_INVALID


def test_a_share_that_found_no_guardian_is_submitted_by_the_retry(noisy: Training) -> None:
    with noisy.serving() as lead:
        sent = lead.round(1)
        noisy.made.guardian.stop()
        assert refusal(lead, sent) is ErrorCode.SERVER_UNREACHABLE
        noisy.made.guardian.start()
        noisy.made.stop.instead = noisy.made.stop.pause
        assert np.array_equal(lead.update(1), noisy.expected(sent)[0])
    assert noisy.journaled() == 1
