from itertools import product
from typing import Any

import pytest

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
from ostraka.common.plan.limits import MAX_COLUMNS, MAX_ENCRYPTED
from ostraka.common.plan.plan import Plan

QUERIES = 20
FIELDS: dict[str, Any] = {
    "nonce": bytes(16),
    "task_digest": bytes(32),
    "classes": 6,
    "parties": ("a", "b"),
    "quorum": 2,
    "queries": QUERIES,
    "batch_size": QUERIES,
    "ring_bits": 32,
}
CHECK = Check(sigma=3, threshold=10)
EVERYWHERE: tuple[Mechanism, ...] = (
    GnMax(sigma=1),
    LnMax(gamma=0.1),
    Confident(sigma1=3, sigma2=1, threshold=10),
    Binary(sigma=1),
    Binary(sigma=1, check=CHECK),
    Tau(sigma=1, tau=2),
    Tau(sigma=1, tau=2, check=CHECK),
    L1(sigma=1, tau1=2),
    L1(sigma=1, tau1=2, check=CHECK),
)
AGGREGATE_ONLY: tuple[Mechanism, ...] = (
    Interactive(sigma1=3, sigma2=1, threshold=10, confidence=0.9),
    Powerset(sigma=1),
    Powerset(sigma=1, max_positives=2, check=CHECK),
)
CLUSTERS = NoiseCluster(sigma=1)
ENCODINGS, TALLIES = ("plain", "ckks"), ("aggregate", "blind")


def plan_with(mechanism: Mechanism, **changed: Any) -> Plan:
    return Plan(**{**FIELDS, "mechanism": mechanism, "multi_label": mechanism.multi_label, **changed})


def require_refused(named: str, mechanism: Mechanism, **changed: Any) -> None:
    with pytest.raises(OstrakaError, match=named) as caught:
        plan_with(mechanism, **changed)
    assert caught.value.code == ErrorCode.PLAN_INVALID
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(("encoding", "tally"), product(ENCODINGS, TALLIES))
@pytest.mark.parametrize("mechanism", EVERYWHERE, ids=repr)
def test_what_runs_in_every_combination_comes_back_from_its_bytes(
    mechanism: Mechanism, encoding: str, tally: str
) -> None:
    plan = plan_with(mechanism, encoding=encoding, tally=tally)
    assert (plan.encoding, plan.tally) == (encoding, tally)
    assert Plan.parse(plan.serialize()) == plan


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("mechanism", AGGREGATE_ONLY, ids=repr)
def test_what_looks_at_the_histogram_is_never_tallied_blindly(mechanism: Mechanism, encoding: str) -> None:
    assert plan_with(mechanism, encoding=encoding).tally == "aggregate"
    named = f"mechanism {mechanism.kind} needs the histogram itself; choose tally aggregate"
    require_refused(named, mechanism, encoding=encoding, tally="blind")


def test_clusters_are_asked_in_the_clear_and_tallied_openly() -> None:
    assert plan_with(CLUSTERS).encoding == "plain"
    require_refused("which encryption hides; choose encoding plain", CLUSTERS, encoding="ckks")
    require_refused("which encryption hides; choose encoding plain", CLUSTERS, encoding="ckks", tally="blind")
    require_refused("noise_cluster needs the histogram itself", CLUSTERS, tally="blind")


@pytest.mark.parametrize("switch", [{"encoding": "ckks"}, {"tally": "blind"}])
def test_either_switch_needs_the_ring_of_the_circuits(switch: dict[str, str]) -> None:
    assert plan_with(GnMax(sigma=1), ring_bits=64).ring_bits == 64
    require_refused("ring of 32 bits; set ring_bits to that", GnMax(sigma=1), ring_bits=64, **switch)


def test_a_blind_tally_of_verified_ballots_takes_the_small_field() -> None:
    verified = plan_with(GnMax(sigma=1), ring_bits=31, tally="blind")
    assert (verified.ballots, verified.tally) == ("verified", "blind")
    require_refused("takes a field of 31 bits", GnMax(sigma=1), ring_bits=61, tally="blind")


@pytest.mark.parametrize("switch", [{"encoding": "ckks"}, {"tally": "blind"}])
@pytest.mark.parametrize(
    ("mechanism", "fits"),
    [(GnMax(sigma=1), MAX_COLUMNS), (Tau(sigma=1, tau=2), MAX_COLUMNS)],
    ids=["classes", "labels"],
)
def test_circuits_take_so_many_columns_and_no_more(
    mechanism: Mechanism, fits: int, switch: dict[str, str]
) -> None:
    assert plan_with(mechanism, classes=fits, **switch).classes == fits
    require_refused("at most 256 classes, labels or label sets", mechanism, classes=fits + 1, **switch)


def test_label_sets_are_columns_too() -> None:
    assert plan_with(Powerset(sigma=1), classes=8, encoding="ckks").classes == 8
    require_refused("lower max_positives", Powerset(sigma=1), classes=9, encoding="ckks")
    require_refused("lower max_positives", Powerset(sigma=1, max_positives=2), classes=23, encoding="ckks")


def test_a_ciphertext_holds_so_many_queries_and_no_more() -> None:
    many = {"queries": 2 * MAX_ENCRYPTED, "encoding": "ckks"}
    assert plan_with(GnMax(sigma=1), batch_size=MAX_ENCRYPTED, **many).batch_size == MAX_ENCRYPTED
    require_refused("holds 4096 queries", GnMax(sigma=1), batch_size=MAX_ENCRYPTED + 1, **many)
    blind = {"queries": 2 * MAX_ENCRYPTED, "tally": "blind"}
    assert plan_with(GnMax(sigma=1), batch_size=MAX_ENCRYPTED + 1, **blind).tally == "blind"


@pytest.mark.parametrize("hidden", [{"encoding": "ckks"}, {"tally": "blind"}])
def test_base_transfers_are_of_circuits_alone(hidden: dict[str, str]) -> None:
    plan = plan_with(GnMax(sigma=1), base_transfers="ml-kem", **hidden)
    assert Plan.parse(plan.serialize()) == plan
    assert plan_with(GnMax(sigma=1), **hidden).base_transfers == "ed25519"
    require_refused("base_transfers ml-kem is for garbled circuits", GnMax(sigma=1), base_transfers="ml-kem")
