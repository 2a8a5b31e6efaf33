import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import (
    L1,
    Binary,
    Check,
    Confident,
    GnMax,
    Interactive,
    LnMax,
    Mechanism,
    NoiseCluster,
    Powerset,
    Tau,
)
from ostraka.common.plan.limits import check_ring
from ostraka.common.plan.plan import Plan, digest
from ostraka.protos.ostraka.v1 import common_pb2

FIELDS: dict[str, Any] = {
    "nonce": bytes(range(16)),
    "task_digest": bytes(32),
    "classes": 10,
    "mechanism": Confident(sigma1=150, sigma2=40, threshold=200),
    "parties": ("a", "b", "c"),
    "quorum": 2,
    "queries": 1000,
    "batch_size": 100,
}


@contextmanager
def refused(code: ErrorCode = ErrorCode.PLAN_INVALID) -> Iterator[None]:
    with pytest.raises(OstrakaError) as caught:
        yield
    assert caught.value.code == code


SIGMA = st.floats(min_value=2.0**-16, allow_infinity=False)
THRESHOLD = st.floats(min_value=0, exclude_min=True, max_value=2**15, exclude_max=True)


CHECKS = st.none() | st.builds(Check, sigma=SIGMA, threshold=THRESHOLD)
SINGLE_LABEL = (
    st.builds(GnMax, sigma=SIGMA)
    | st.builds(Confident, sigma1=SIGMA, sigma2=SIGMA, threshold=THRESHOLD)
    | st.builds(Interactive, sigma1=SIGMA, sigma2=SIGMA, threshold=THRESHOLD, confidence=st.floats(0, 1))
    | st.builds(LnMax, gamma=st.floats(min_value=0, exclude_min=True, max_value=2**16))
)
MULTI_LABEL = (
    st.builds(Binary, sigma=SIGMA, check=CHECKS)
    | st.builds(Tau, sigma=SIGMA, tau=st.floats(2.0**-16, 3), check=CHECKS)
    | st.builds(L1, sigma=SIGMA, tau1=st.floats(2.0**-16, 10), check=CHECKS)
    | st.builds(Powerset, sigma=SIGMA, max_positives=st.none() | st.integers(1, 10), check=CHECKS)
)


@pytest.mark.heavy
@given(
    mechanism=SINGLE_LABEL | MULTI_LABEL,
    ring_bits=st.sampled_from([32, 64]),
    queries=st.integers(1, 2**32 - 1),
    nonce=st.binary(min_size=16, max_size=16),
)
def test_a_plan_comes_back_from_its_bytes(mechanism: Mechanism, **changed: Any) -> None:
    chosen = {"mechanism": mechanism, "multi_label": mechanism.multi_label, "batch_size": 1}
    plan = Plan(**{**FIELDS, **chosen, **changed})
    assert Plan.parse(plan.serialize()) == plan


@given(sigma=SIGMA, adjacency=st.sampled_from(["record", "label"]))
def test_a_plan_for_clusters_comes_back_from_its_bytes(sigma: float, adjacency: str) -> None:
    clusters = {"mechanism": NoiseCluster(sigma=sigma), "queries": 20, "batch_size": 20}
    plan = Plan(**{**FIELDS, **clusters, "adjacency": adjacency})
    assert Plan.parse(plan.serialize()) == plan


@pytest.mark.parametrize(
    ("mechanism", "labels", "named"),
    [
        (Tau(sigma=1, tau=3.2), 10, "tau is 3.2, which clips nothing: .* at most 3.16"),
        (L1(sigma=1, tau1=10.5), 10, "tau1 is 10.5, which clips nothing"),
        (Powerset(sigma=1, max_positives=11), 10, "max_positives is 11 and the task has 10 labels"),
        (Powerset(sigma=1), 17, "65536 label sets of a ballot; lower max_positives, or choose mechanism tau"),
        (Powerset(sigma=1, max_positives=3), 101, "lower max_positives"),
    ],
)
def test_parameters_that_make_no_sense_for_the_labels_are_refused(
    mechanism: Mechanism, labels: int, named: str
) -> None:
    with pytest.raises(OstrakaError, match=named) as caught:
        Plan(**{**FIELDS, "classes": labels, "mechanism": mechanism, "multi_label": True})
    assert caught.value.code == ErrorCode.PLAN_INVALID


def test_powerset_fits_up_to_65536_sets() -> None:
    for labels, most in ((16, None), (101, 2)):
        mechanism = Powerset(sigma=1, max_positives=most)
        Plan(**{**FIELDS, "classes": labels, "mechanism": mechanism, "multi_label": True, "batch_size": 20})


def test_a_batch_draws_for_at_most_four_million_label_sets() -> None:
    mechanism, sets = Powerset(sigma=1), 2**16
    batch = {"classes": 16, "mechanism": mechanism, "multi_label": True, "queries": 1000}
    Plan(**{**FIELDS, **batch, "batch_size": 4_000_000 // sets})
    with pytest.raises(OstrakaError, match="lower max_positives, or ask for batches of at most 61 queries"):
        Plan(**{**FIELDS, **batch, "batch_size": 62})


def test_a_plan_behind_an_encoder_comes_back_from_its_bytes() -> None:
    plan = Plan(**{**FIELDS, "encoder": "maps.small:network", "encoder_sha256": bytes(range(32))})
    assert Plan.parse(plan.serialize()) == plan


def test_the_digest_is_of_the_bytes_as_sent() -> None:
    data = Plan(**FIELDS).serialize()
    assert digest(data) == hashlib.sha256(data).digest()
    assert digest(data + b"\0") != digest(data)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"nonce": bytes(15)}, "nonce"),
        ({"nonce": bytes(17)}, "nonce"),
        ({"task_digest": b""}, "task_digest"),
        ({"classes": 1}, "classes"),
        ({"classes": 65_537}, "classes: .*65536"),
        ({"parties": ()}, "parties"),
        ({"parties": ("b", "a")}, "parties: .*sorted"),
        ({"parties": ("a", "a")}, "parties: .*once"),
        ({"parties": ("A b",)}, "parties"),
        ({"quorum": 0}, "quorum"),
        ({"quorum": 4}, "quorum of 4 is more than the 3 parties"),
        ({"queries": 0}, "queries"),
        ({"batch_size": 0}, "batch_size"),
        ({"batch_size": 1001}, "batch of 1001 is larger than the 1000 queries"),
        ({"ring_bits": 16}, "ring_bits"),
        ({"fraction_bits": 8}, "fraction_bits"),
        ({"adjacency": "person"}, "adjacency"),
        ({"mechanism": {"kind": "lnmax"}}, "gamma"),
        ({"mechanism": {"kind": "argmax"}}, "gnmax"),
        ({"mechanism": Binary(sigma=1)}, "binary does not answer single labels; choose one of gnmax"),
        ({"mechanism": NoiseCluster(sigma=1)}, "make the batch as large as the queries"),
        ({"queries": 2**21, "batch_size": 2**21}, "ask for batches of at most 1677721 queries"),
        ({"encoder": "maps"}, "encoder"),
        ({"encoder": "maps:network"}, "give both or neither"),
        ({"encoder_sha256": bytes(32)}, "give both or neither"),
        ({"encoder": "maps:network", "encoder_sha256": bytes(33)}, "encoder_sha256"),
        ({"multi_label": True}, "confident does not answer sets of labels; choose one of binary"),
        ({"color": 1}, "color"),
        ({"queries": True}, "queries"),
    ],
)
def test_what_is_off_is_named(change: dict[str, Any], named: str) -> None:
    with pytest.raises(OstrakaError, match=named) as caught:
        Plan(**{**FIELDS, **change})
    assert caught.value.code == ErrorCode.PLAN_INVALID
    assert "\n" not in caught.value.message


FAR = Check(sigma=1, threshold=2.0**15)


@pytest.mark.parametrize(
    ("mechanism", "named"),
    [
        (GnMax(sigma=2.0**-17), "sigma 7.62939e-06 is less than a step"),
        (LnMax(gamma=1e6), "less than a step"),
        (Binary(sigma=1, check=Check(sigma=1e-9, threshold=1)), "less than a step"),
        (Tau(sigma=1, tau=1e-6), "clipping ballots to 1e-06 leaves nothing"),
        (L1(sigma=1, tau1=1e-6), "clipping ballots to 1e-06 leaves nothing"),
        (Confident(sigma1=1, sigma2=1, threshold=1e305), "a threshold of 32768"),
        (Interactive(sigma1=1, sigma2=1, threshold=2.0**15, confidence=1), "a threshold of 32768"),
        (Binary(sigma=1, check=FAR), "a threshold of 32768"),
        (Tau(sigma=1, tau=1, check=FAR), "a threshold of 32768"),
        (L1(sigma=1, tau1=1, check=FAR), "a threshold of 32768"),
        (Powerset(sigma=1, check=FAR), "a threshold of 32768"),
    ],
)
def test_numbers_that_a_ring_cannot_tell_apart_are_refused(mechanism: Mechanism, named: str) -> None:
    with pytest.raises(OstrakaError, match=named) as caught:
        Plan(**{**FIELDS, "ring_bits": 32, "mechanism": mechanism, "multi_label": mechanism.multi_label})
    assert caught.value.code == ErrorCode.PLAN_INVALID


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf"), "1", None])
def test_parameters_are_finite_and_positive(value: Any) -> None:
    for make in (
        lambda: GnMax(sigma=value),
        lambda: Confident(sigma1=value, sigma2=1, threshold=1),
        lambda: Confident(sigma1=1, sigma2=value, threshold=1),
        lambda: Confident(sigma1=1, sigma2=1, threshold=value),
    ):
        with refused():
            make()


def message() -> common_pb2.Plan:
    return common_pb2.Plan.FromString(Plan(**FIELDS).serialize())


def test_bytes_that_are_no_plan_are_refused() -> None:
    with pytest.raises(OstrakaError, match=r"not an ostraka\.v1\.Plan"):
        Plan.parse(b"\xff\xff\xff")


def test_the_same_bytes_are_parsed_once() -> None:
    data = Plan(**{**FIELDS, "nonce": b"parsed once here"}).serialize()
    assert Plan.parse(data) is Plan.parse(bytes(bytearray(data)))


def test_bytes_that_were_refused_are_refused_again() -> None:
    for _ in range(2):
        with pytest.raises(OstrakaError, match=r"not an ostraka\.v1\.Plan"):
            Plan.parse(b"\xff\xff")


@given(st.binary(max_size=80))
def test_any_bytes_are_a_plan_or_refused(data: Any) -> None:
    with refused():
        Plan.parse(data)


def test_a_field_from_another_version_is_refused() -> None:
    unknown = b"\xf8\x07\x01"
    with pytest.raises(OstrakaError, match="same version"):
        Plan.parse(Plan(**FIELDS).serialize() + unknown)
    nested = message()
    nested.mechanism.confident.MergeFromString(unknown)
    with pytest.raises(OstrakaError, match="same version"):
        Plan.parse(nested.SerializeToString())


def test_unset_choices_are_refused() -> None:
    without_mechanism, without_tally, without_encoding = message(), message(), message()
    without_mechanism.ClearField("mechanism")
    without_tally.ClearField("tally")
    without_encoding.ClearField("encoding")
    for plan, named in (
        (without_mechanism, "choose one of gnmax, confident"),
        (without_tally, "tally: choose one of aggregate, blind"),
        (without_encoding, "encoding: choose one of plain, ckks"),
    ):
        with pytest.raises(OstrakaError, match=named):
            Plan.parse(plan.SerializeToString())


def plan_in(bits: int, sigma: float = 1.0) -> Plan:
    return Plan(**{**FIELDS, "ring_bits": bits, "mechanism": GnMax(sigma=sigma)})


@pytest.mark.parametrize(
    ("bits", "sigma", "voters", "fits"),
    [
        (32, 1.0, 16_335, True),
        (32, 1.0, 16_336, False),
        (32, 200.0, 6_783, True),
        (32, 200.0, 6_784, False),
        (64, 1e6, 10**6, True),
        (64, 1e14, 1, False),
    ],
)
def test_the_ring_holds_votes_and_noise_or_the_plan_is_refused(
    bits: int, sigma: float, voters: int, fits: bool
) -> None:
    if fits:
        check_ring(plan_in(bits, sigma), voters)
        return
    with refused(ErrorCode.PLAN_RING_TOO_SMALL):
        check_ring(plan_in(bits, sigma), voters)


def test_a_student_adds_up_to_one_vote_per_teacher() -> None:
    mechanism = Interactive(sigma1=1, sigma2=1, threshold=1, confidence=0.9)
    plan = Plan(**{**FIELDS, "ring_bits": 32, "mechanism": mechanism})
    check_ring(plan, 8_167)
    with refused(ErrorCode.PLAN_RING_TOO_SMALL):
        check_ring(plan, 8_168)


def test_the_larger_of_two_noises_counts() -> None:
    plan = Plan(**{**FIELDS, "ring_bits": 32, "mechanism": Confident(sigma1=1, sigma2=3_000, threshold=1)})
    with pytest.raises(OstrakaError, match="ring_bits 64"):
        check_ring(plan, 10)
