"""Cohorts of manifests, and what their units change."""

from typing import Any

import pytest

from ostraka.common.mechanism import GnMax, Mechanism, Moments, NoiseCluster, RandRes, RandResLabels
from ostraka.common.privacy import Influence
from ostraka.guardian.ledger import UnitKey
from ostraka.guardian.sessions.cohorts import ONE_VOTE_STEPS, cohort_messages, cohorts_of
from ostraka.protos.ostraka.v1 import common_pb2

GROUPS = [("low", 40, 4, 1), ("high", 60, 6, 1)]


def manifest(*groups: tuple[str, int, int, int], **changes: Any) -> common_pb2.Manifest:
    fields: dict[str, Any] = {"site": "a", "max_votes_per_person": 1}
    listed = [
        common_pb2.Group(name=name, records=records, teachers=teachers, copies=copies)
        for name, records, teachers, copies in groups
    ]
    return common_pb2.Manifest(groups=listed, **fields | changes)


def found(of: common_pb2.Manifest, mechanism: Any = GnMax(sigma=1), persons: int = 1) -> Any:  # noqa: B008
    cohorts = cohort_messages(of, mechanism)
    participant = common_pb2.Participant(site="a", max_votes_per_person=persons, cohorts=cohorts)
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


@pytest.mark.parametrize(
    "mechanism", [NoiseCluster(sigma=1), RandRes(epsilon=1), RandResLabels(epsilon=1)], ids=lambda m: m.kind
)
def test_records_vote_once_each(mechanism: Mechanism) -> None:
    mixed = manifest(("low", 40, 20, 1), ("high", 60, 20, 4), mixed=True)
    (cohort,) = found(mixed, mechanism)
    assert cohort.voters == 100
    assert set(cohort.units("label").values()) == {Influence(1)}


def test_a_manifest_from_before_copies_has_one_of_each_record() -> None:
    (cohort,) = found(manifest(("all", 40, 20, 0)))
    assert cohort.groups == (("all", Influence(1)),)


@pytest.mark.parametrize("weight", [1, 40_000, 3 * ONE_VOTE_STEPS])
def test_a_weighted_vote_changes_its_weight(weight: int) -> None:
    participant = common_pb2.Participant(site="a", max_votes_per_person=2)
    participant.cohorts.add(groups=["low"], teachers=4, weight=weight)
    (cohort,) = cohorts_of(participant, manifest(GROUPS[0]), GnMax(sigma=1))
    assert cohort.units("record") == {UnitKey("a", "low", "record"): Influence(2, weight / 65536)}
    assert cohort.total == 4 * weight


def test_sums_are_over_the_records_that_count() -> None:
    of = manifest(*GROUPS)
    of.groups[0].summed_records = 25
    low, high = found(of, Moments(columns=3, codes=2, sigma=1))
    assert (low.voters, high.voters) == (25, 60)
    messages = cohort_messages(of, Moments(columns=3, codes=2, sigma=1))
    assert [list(message.records) for message in messages] == [[25], [60]]
    assert [list(message.records) for message in cohort_messages(of, GnMax(sigma=1))] == [[40], [60]]


@pytest.mark.parametrize("mixed", [True, False])
def test_sums_have_a_cohort_a_group_whoever_its_teachers_are(mixed: bool) -> None:
    teachers = 20 if mixed else 4
    of = manifest(("low", 40, teachers, 1), ("high", 60, teachers, 4 if mixed else 1), mixed=mixed)
    moments = Moments(columns=3, codes=2, sigma=1)
    low, high = found(of, moments, persons=2)
    assert [(low.voters, low.groups[0]), (high.voters, high.groups[0])] == [
        (40, ("low", Influence(2))),
        (60, ("high", Influence(2))),
    ]
    assert [message.teachers for message in cohort_messages(of, moments)] == [
        0,
        0,
    ]


def test_records_without_teachers_vote_where_records_do() -> None:
    alone = manifest(("all", 40, 0, 1), mixed=True)
    assert [found(alone, one)[0].voters for one in (GnMax(sigma=1), NoiseCluster(sigma=1))] == [0, 40]
