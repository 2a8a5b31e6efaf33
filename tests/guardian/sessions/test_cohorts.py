"""Cohorts of manifests, what their units change, and what their votes weigh."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.common.mechanism import GnMax, Mechanism, NoiseCluster, RandRes
from ostraka.common.privacy import Influence
from ostraka.guardian.ledger import UnitKey
from ostraka.guardian.sessions.cohorts import ONE_VOTE_STEPS, cohorts_of, declared, weights
from ostraka.protos.ostraka.v1 import common_pb2
from tests.guardian.sessions.people import cohort

GROUPS = [("low", 40, 4, 1), ("high", 60, 6, 1)]


def manifest(*groups: tuple[str, int, int, int], **changes: Any) -> common_pb2.Manifest:
    fields: dict[str, Any] = {"site": "a", "max_votes_per_person": 1}
    listed = [
        common_pb2.Group(name=name, records=records, teachers=teachers, copies=copies)
        for name, records, teachers, copies in groups
    ]
    return common_pb2.Manifest(groups=listed, **fields | changes)


def found(of: common_pb2.Manifest, mechanism: Any = GnMax(sigma=1), persons: int = 1) -> Any:  # noqa: B008
    participant = common_pb2.Participant(site="a", max_votes_per_person=persons, cohorts=declared(of))
    return cohorts_of(participant, of, mechanism)


def test_separate_teachers_make_a_cohort_a_group() -> None:
    low, high = found(manifest(*GROUPS))
    assert (low.voters, high.voters) == (4, 6)
    assert low.units("record") == {UnitKey("a", "low", "record"): Influence(1, 1.0)}
    assert set(high.payers("record")) == {UnitKey("a", "high", "record"), UnitKey("a", "high", "label")}
    assert set(high.payers("label")) == {UnitKey("a", "high", "label")}


def test_mixed_teachers_are_one_cohort_and_copies_change_as_many_votes() -> None:
    mixed = manifest(("low", 40, 20, 1), ("high", 60, 20, 4), mixed=True)
    (cohort,) = found(mixed, persons=3)
    assert (cohort.voters, cohort.total) == (20, 20 * ONE_VOTE_STEPS)
    assert cohort.units("record") == {
        UnitKey("a", "low", "record"): Influence(3),
        UnitKey("a", "high", "record"): Influence(12),
    }


@pytest.mark.parametrize("mechanism", [NoiseCluster(sigma=1), RandRes(epsilon=1)], ids=lambda m: m.kind)
def test_records_vote_once_each(mechanism: Mechanism) -> None:
    mixed = manifest(("low", 40, 20, 1), ("high", 60, 20, 4), mixed=True)
    (cohort,) = found(mixed, mechanism)
    assert cohort.voters == 100
    assert set(cohort.units("label").values()) == {Influence(1)}


def test_a_manifest_from_before_copies_has_one_of_each_record() -> None:
    (cohort,) = found(manifest(("all", 40, 20, 0)))
    assert cohort.groups == (("all", Influence(1)),)


def test_weights_are_epsilons_over_the_mean_of_all_teachers() -> None:
    low, high = cohort("a", "low", 30), cohort("b", "high", 10)
    assert weights({low: 1.0, high: 5.0}) == {low: ONE_VOTE_STEPS // 2, high: 5 * ONE_VOTE_STEPS // 2}
    assert weights({low: 3.0, high: 3.0}) == {low: ONE_VOTE_STEPS, high: ONE_VOTE_STEPS}
    assert weights({low: 1.0, high: 1e9})[low] == 1


@given(epsilons=st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=20), voters=st.integers(1, 200))
def test_all_votes_together_weigh_what_the_teachers_are(epsilons: list[float], voters: int) -> None:
    cohorts = {cohort(f"p{i}", voters=voters + i): each for i, each in enumerate(epsilons)}
    total = sum(one.voters * steps for one, steps in weights(cohorts).items())
    teachers = sum(one.voters for one in cohorts)
    assert teachers * ONE_VOTE_STEPS - teachers <= total + 1e-6 * teachers * ONE_VOTE_STEPS
    assert total <= teachers * (ONE_VOTE_STEPS + 1)


@pytest.mark.parametrize("weight", [1, 40_000, 3 * ONE_VOTE_STEPS])
def test_a_weighted_vote_changes_its_weight(weight: int) -> None:
    participant = common_pb2.Participant(site="a", max_votes_per_person=2)
    participant.cohorts.add(groups=["low"], teachers=4, weight=weight)
    (cohort,) = cohorts_of(participant, manifest(GROUPS[0]), GnMax(sigma=1))
    assert cohort.units("record") == {UnitKey("a", "low", "record"): Influence(2, weight / 65536)}
    assert cohort.total == 4 * weight
