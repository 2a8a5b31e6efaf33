"""Every mechanism from the options that give it, and plans that no mechanism makes."""

from typing import Any

import numpy as np
import pytest

from ostraka.client.run.asking_options import Adjacency
from ostraka.client.run.options import PlanOptions, make_plan
from ostraka.common.datasets import from_arrays
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import (
    L1,
    Binary,
    GnMax,
    Mechanism,
    NoiseCluster,
    Powerset,
    RandRes,
    Tau,
)
from ostraka.common.plan.choices import BALLOTS
from ostraka.common.plan.plan import Plan
from ostraka.common.task import Task, infer_task


def task(*, multi_label: bool) -> Task:
    y = np.tri(3, dtype=int) if multi_label else np.arange(3)
    return infer_task(from_arrays(np.eye(3), y, classes=("ant", "bee", "cat")), "insects")


PARTIES = {"a": "127.0.0.1:1", "b": "127.0.0.1:2"}


def test_a_plan_says_whether_its_task_has_several_labels() -> None:
    for several, mechanism in ((True, Tau(sigma=4.0, tau=1.5)), (False, GnMax(sigma=4.0))):
        made = make_plan(PlanOptions(mechanism=mechanism), task(multi_label=several), 10, PARTIES, bytes(16))
        assert made.multi_label is several


def test_clusters_are_asked_in_one_batch() -> None:
    options = PlanOptions(mechanism=NoiseCluster(sigma=4.0), batch_size=3, adjacency="label")
    made = make_plan(options, task(multi_label=False), 10, PARTIES, bytes(16))
    assert (made.queries, made.batch_size, made.adjacency) == (10, 10, "label")
    pooled = options.model_copy(update={"clusters": 4})
    made = make_plan(pooled, task(multi_label=False), 10, PARTIES, bytes(16))
    assert (made.queries, made.batch_size) == (4, 4)


def test_labels_drawn_anew_are_asked_in_one_batch() -> None:
    options = PlanOptions(mechanism=RandRes(epsilon=2.0), batch_size=3, adjacency="label")
    made = make_plan(options, task(multi_label=False), 10, PARTIES, bytes(16))
    assert (made.queries, made.batch_size, made.mechanism) == (10, 10, RandRes(epsilon=2.0))


@pytest.mark.parametrize(
    ("options", "several", "told"),
    [
        (PlanOptions(mechanism=GnMax(sigma=4.0)), True, "sets of labels"),
        (PlanOptions(mechanism=Binary(sigma=4.0)), False, "single labels"),
        (PlanOptions(mechanism=Tau(sigma=4.0, tau=9.0)), True, "tau is 9"),
        (PlanOptions(mechanism=RandRes(epsilon=2.0)), False, "adjacency to label"),
        (PlanOptions(mechanism=GnMax(sigma=4.0), clusters=3), False, "leave out clusters"),
        (PlanOptions(mechanism=NoiseCluster(sigma=4.0), clusters=3), False, "leave out clusters"),
        (
            PlanOptions(mechanism=NoiseCluster(sigma=4.0), clusters=11, adjacency="label"),
            False,
            "a pool of 10",
        ),
        (
            PlanOptions(mechanism=NoiseCluster(sigma=4.0), clusters=3, queries=5, adjacency="label"),
            False,
            "leave out q",
        ),
    ],
)
def test_a_mechanism_that_does_not_fit_the_task_is_refused(
    options: PlanOptions, several: bool, told: str
) -> None:
    with pytest.raises(OstrakaError, match=told) as refused:
        make_plan(options, task(multi_label=several), 10, PARTIES, bytes(16))
    assert refused.value.code is ErrorCode.PLAN_INVALID


def test_confidential_plans_share_in_the_ring_of_circuits_and_fill_ciphertexts() -> None:
    def made(**changes: Any) -> Plan:
        options = PlanOptions(mechanism=GnMax(sigma=4.0), **changes)
        return make_plan(options, task(multi_label=False), 5000, PARTIES, bytes(16))

    confidential: list[dict[str, Any]] = [{"encoding": "ckks"}, {"tally": "blind"}]
    assert [made(**changes).ring_bits for changes in confidential] == [32, 31]
    assert made(tally="blind", ballots="unverified").ring_bits == 32
    assert [made(**changes).batch_size for changes in [{}, *confidential]] == [100, 1024, 100]
    assert made(encoding="ckks", batch_size=7).batch_size == 7


@pytest.mark.parametrize(
    ("mechanism", "ballots", "labels", "bits"),
    [
        (GnMax(sigma=4.0), None, 9, 31),
        (GnMax(sigma=4.0), "unverified", 9, 64),
        (GnMax(sigma=200.0), None, 9, 61),
        (NoiseCluster(sigma=4.0), None, 9, 61),
        (Powerset(sigma=4.0), None, 8, 31),
        (Powerset(sigma=4.0), None, 9, 64),
        (Powerset(sigma=4.0), "verified", 9, 31),
        (Binary(sigma=4.0), None, 60, 31),
        (Tau(sigma=4.0, tau=2.0), None, 20, 64),
        (Tau(sigma=4.0, tau=2.0), "verified", 20, 31),
        (Tau(sigma=4.0, tau=2.0), "verified", 60, 61),
        (L1(sigma=4.0, tau1=2.0), "verified", 60, 31),
    ],
)
def test_ballots_are_verified_where_it_costs_little_in_the_smallest_field_with_room(
    mechanism: Mechanism, ballots: BALLOTS | None, labels: int, bits: int
) -> None:
    adjacency: Adjacency = "label" if mechanism.by_record else "record"
    options = PlanOptions(mechanism=mechanism, ballots=ballots, adjacency=adjacency)
    names = tuple(f"label {number}" for number in range(labels))
    asked = task(multi_label=mechanism.multi_label).model_copy(update={"classes": names})
    assert make_plan(options, asked, 10, PARTIES, bytes(16)).ring_bits == bits


def test_many_parties_get_the_larger_field() -> None:
    many = [f"p{number}" for number in range(80)]
    options = PlanOptions(mechanism=GnMax(sigma=4.0))
    assert make_plan(options, task(multi_label=False), 10, many, bytes(16)).ring_bits == 61


@pytest.mark.parametrize(("quorum", "bits"), [(3, 31), (2, 61)])
def test_noise_that_all_parties_add_takes_room(quorum: int, bits: int) -> None:
    """The fewer are relied on, the more each adds."""
    options = PlanOptions(mechanism=GnMax(sigma=600.0), noise="parties", quorum=quorum)
    plan = make_plan(options, task(multi_label=False), 10, ["a", "b", "c"], bytes(16))
    assert (plan.ballots, plan.ring_bits) == ("verified", bits)


def test_an_encoder_is_named_with_the_digest_of_its_weights() -> None:
    options = PlanOptions(mechanism=GnMax(sigma=4.0), encoder="some.module:network")
    made = make_plan(options, task(multi_label=False), 10, PARTIES, bytes(16), b"w" * 32)
    assert (made.encoder, made.encoder_sha256) == ("some.module:network", b"w" * 32)
