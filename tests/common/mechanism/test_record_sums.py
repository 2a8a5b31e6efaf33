"""Plans of sums over records: how wide these are, and what goes together in such a plan."""

from typing import Any

import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Bins, Boost, Gradients, Moments, RecordSums, Statistics
from ostraka.common.mechanism.record_sums import MAX_VALUES
from ostraka.common.plan.limits import MAX_VERIFIED_VALUES
from ostraka.common.plan.plan import Plan

FIELDS: dict[str, Any] = {
    "nonce": bytes(16),
    "task_digest": bytes(32),
    "classes": 3,
    "mechanism": Moments(columns=5, codes=3, sigma=4.0, gram_sigma=6.0),
    "parties": ("a", "b"),
    "quorum": 2,
    "queries": 7,
    "batch_size": 1,
}
SUMS = (
    FIELDS["mechanism"],
    Bins(columns=5, codes=3, sigma=4.0),
    Boost(bins=5, outputs=3, sigma=4.0),
    Gradients(parameters=15, sigma=4.0),
    Statistics(cells=15, columns=2, sigma=4.0),
)


def refusal(**changes: Any) -> str:
    with pytest.raises(OstrakaError) as caught:
        Plan(**FIELDS | changes)
    assert caught.value.code is ErrorCode.PLAN_INVALID
    return caught.value.message


@pytest.mark.parametrize("mechanism", SUMS, ids=lambda mechanism: mechanism.kind)
@pytest.mark.parametrize("changes", [{}, {"multi_label": True}, {"classes": 1}, {"variant": "weighting"}])
def test_plans_of_sums_come_back_from_their_bytes(mechanism: RecordSums, changes: dict[str, Any]) -> None:
    plan = Plan(**FIELDS | {"mechanism": mechanism} | changes)
    assert Plan.parse(plan.serialize()) == plan
    assert plan.mechanism.width(plan.classes) == sum(block.width for block in mechanism.blocks)


@pytest.mark.parametrize("mechanism", SUMS, ids=lambda mechanism: mechanism.kind)
def test_sums_are_verified_in_the_field_that_norms_fit(mechanism: RecordSums) -> None:
    plan = Plan(**FIELDS | {"mechanism": mechanism, "ring_bits": 61})
    assert plan.ballots == "verified"
    assert Plan.parse(plan.serialize()) == plan
    assert "set ring_bits 61" in refusal(mechanism=mechanism, ring_bits=31)


def test_no_longer_sum_is_verified_than_a_party_proves_in_seconds() -> None:
    longest = Gradients(parameters=MAX_VERIFIED_VALUES, sigma=1.0)
    assert Plan(**FIELDS | {"mechanism": longest, "ring_bits": 61}).ballots == "verified"
    image = Moments(columns=785, codes=10, sigma=1.0, gram_sigma=1.0)
    for longer in (Gradients(parameters=MAX_VERIFIED_VALUES + 1, sigma=1.0), image):
        assert "too long to be verified, and 32768 are the most" in refusal(mechanism=longer, ring_bits=61)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"tally": "blind"}, "tally aggregate"),
        ({"encoding": "ckks"}, "encoding plain"),
        ({"ring_bits": 32}, "ring_bits 64"),
        ({"batch_size": 2}, "batch_size 1"),
    ],
)
def test_a_round_releases_one_sum(changes: dict[str, Any], told: str) -> None:
    assert told in refusal(**changes)


def test_no_sum_is_wider_than_a_share() -> None:
    Plan(**FIELDS | {"mechanism": Gradients(parameters=MAX_VALUES, sigma=4.0)})
    with pytest.raises(OstrakaError, match="parameters") as caught:
        Gradients(parameters=MAX_VALUES + 1, sigma=4.0)
    assert caught.value.code is ErrorCode.PLAN_INVALID
    wide = Moments(columns=MAX_VALUES, codes=2, sigma=4.0)
    assert "a share of one round" in refusal(mechanism=wide)
