from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.common.datasets import Dataset
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task import NumberColumn, TableInput, Task
from ostraka.common.task.persons import Persons
from ostraka.services.teachers import TrainingConfig
from ostraka.services.teachers.assignment import assign, slices
from ostraka.services.teachers.config import Variant
from tests.services.teachers.conftest import blobs

EPSILONS = {"low": 1.0, "medium": 2.0, "high": 4.0, "unused": 3.0}
CONSENT = tuple(["low"] * 60 + ["high"] * 20 + ["medium"] * 40)
TASK = Task(
    name="t", id="pid", classes=("a", "b"), input=TableInput(columns=(NumberColumn(name="x", min=0, max=9),))
)
VARIANTS: tuple[Variant, ...] = ("none", "upsampling", "vanishing", "weighting")


def config(variant: Variant, teachers: int = 12, **more: object) -> TrainingConfig:
    return TrainingConfig.model_validate(
        {"teachers": teachers, "variant": variant, "consent": EPSILONS} | more
    )


def with_consent(records: int = 120) -> Dataset:
    return replace(blobs(records), consent=CONSENT[:records])


def groups(data: Dataset, setting: TrainingConfig) -> list[tuple[str, int, int, int]]:
    found = assign(data, setting, 0).groups
    return [(group.name, group.records, group.teachers, group.copies) for group in found]


def test_without_a_variant_levels_share_all_teachers() -> None:
    data = with_consent()
    assert groups(data, config("none")) == [("high", 20, 12, 1), ("low", 60, 12, 1), ("medium", 40, 12, 1)]
    found = assign(data, config("none"), 7)
    assert found.mixed
    assert all(np.array_equal(*pair) for pair in zip(found.slices, slices(120, 12, 7), strict=True))


def test_without_consent_there_is_one_group() -> None:
    assert groups(blobs(30), config("none")) == [("all", 30, 12, 1)]


def test_upsampling_adds_teachers_as_it_adds_copies() -> None:
    """60 + 2 x 40 + 3 x 20 = 200 copies of 120 records for 12 teachers: 20 teachers of 10."""
    found = assign(with_consent(), config("upsampling"), 0)
    assert groups(with_consent(), config("upsampling")) == [
        ("high", 20, 20, 3),
        ("low", 60, 20, 1),
        ("medium", 40, 20, 2),
    ]
    assert found.mixed
    assert [len(part) for part in found.slices] == [10] * 20
    counts = np.bincount(np.concatenate(found.slices))
    assert counts.tolist() == [{"low": 1, "medium": 2, "high": 3}[level] for level in CONSENT]


@pytest.mark.parametrize("variant", ["vanishing", "weighting"])
def test_apart_every_teacher_learns_from_one_level(variant: Variant) -> None:
    found = assign(with_consent(), config(variant), 0)
    assert groups(with_consent(), config(variant)) == [
        ("high", 20, 2, 1),
        ("low", 60, 6, 1),
        ("medium", 40, 4, 1),
    ]
    assert not found.mixed
    owners = [{CONSENT[row] for row in part} for part in found.slices]
    assert owners == [{"high"}] * 2 + [{"low"}] * 6 + [{"medium"}] * 4


@pytest.mark.heavy
@given(st.sampled_from(VARIANTS), st.integers(0, 119), st.integers(0, 2**32))
def test_what_a_record_holds_moves_no_record(variant: Variant, row: int, seed: int) -> None:
    data = with_consent()
    other = with_consent()
    other.X[row] = -other.X[row] + 3
    other.labels()[row] = (other.labels()[row] + 1) % 3
    before, after = (assign(each, config(variant), seed) for each in (data, other))
    assert all(np.array_equal(*pair) for pair in zip(before.slices, after.slices, strict=True))
    assert (before.groups, before.mixed) == (after.groups, after.mixed)


@pytest.mark.parametrize("variant", VARIANTS[1:])
def test_a_variant_needs_consent_and_its_epsilons(variant: Variant) -> None:
    for data, setting, code, named in (
        (blobs(120), config(variant), ErrorCode.DATA_MISSING, "no consent levels"),
        (with_consent(), config(variant, consent=None), ErrorCode.CONFIG_INVALID, "'high'"),
        (
            with_consent(),
            config(variant, consent={"high": 1, "low": 2}),
            ErrorCode.CONFIG_INVALID,
            "'medium'",
        ),
        (with_consent(10), config(variant), ErrorCode.DATA_TOO_FEW, "10 records"),
    ):
        with pytest.raises(OstrakaError, match=named) as refused:
            assign(data, setting, 0)
        assert refused.value.code is code


@given(seed=st.integers(0, 99), sizes=st.lists(st.integers(1, 5), min_size=40, max_size=50))
@pytest.mark.parametrize("variant", ["none", "upsampling", "vanishing"])
def test_a_person_s_records_stay_together_however_many_they_are(
    variant: Variant, seed: int, sizes: list[int]
) -> None:
    """One more record of a person changes the slices that have its others, and no other."""
    levels = [("low", "high", "medium")[person % 3] for person in range(len(sizes))]

    def given_to(counts: list[int]) -> tuple[list[set[int]], list[int]]:
        persons = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
        consent = tuple(levels[person] for person in persons)
        data = replace(blobs(len(persons)), consent=consent)
        found = assign(data, config(variant), seed, persons)
        assert sorted({row for part in found.slices for row in part}) == list(range(len(persons)))
        parts = [persons[part] for part in found.slices]
        whole = [sum(counts[person] for person in set(part.tolist())) for part in parts]
        assert [len(part) for part in parts] == whole
        return [set(part.tolist()) for part in parts], [group.copies for group in found.groups]

    parts, copied = given_to(sizes)
    assert (parts, copied) == given_to([sizes[0] + 3, *sizes[1:]])
    times = {"low": 1, "medium": 2, "high": 3} if variant == "upsampling" else dict.fromkeys(levels, 1)
    for person, level in enumerate(levels):
        assert sum(person in part for part in parts) == times[level]


@given(
    seed=st.integers(0, 99), place=st.integers(0, 39), new=st.text("apz", min_size=1), more=st.integers(1, 5)
)
@pytest.mark.parametrize("variant", VARIANTS)
def test_who_takes_another_person_s_place_moves_nobody_else(
    variant: Variant, seed: int, place: int, new: str, more: int
) -> None:
    """Under whatever id and with however many records: then teachers of others keep theirs."""
    drawn = np.random.default_rng(seed)
    # Everybody's first record, and then others of anybody.
    whose = [*drawn.permutation(40).tolist(), *drawn.integers(0, 40, 60).tolist()]
    fewer = [person for row, person in enumerate(whose) if person != place or row < 40] + [place] * more

    def given_to(rows: list[int], ids: list[str]) -> list[list[str]]:
        named = [ids[person] for person in rows]
        consent = tuple(("low", "high", "medium")[person % 3] for person in rows)
        data = replace(blobs(len(rows)), consent=consent).with_ids(named)
        persons = Persons.of(TASK, data)
        assert persons is not None
        return [
            [named[row] for row in part]
            for part in assign(data, config(variant), seed, persons.of_record).slices
        ]

    old = [f"p{person}" for person in range(40)]
    before = given_to(whose, old)
    replaced = [*old[:place], f"{new}-new", *old[place + 1 :]]
    for rows in (whose, fewer):
        after = given_to(rows, replaced)
        changed = [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]]
        copies = {0: 1, 1: 3, 2: 2}[place % 3] if variant == "upsampling" else 1
        assert len(changed) == copies
        for one, other in changed:
            assert [who for who in one if who != old[place]] == [
                who for who in other if who != replaced[place]
            ]


def test_persons_are_too_few_for_the_teachers_or_of_two_levels() -> None:
    persons = np.arange(120) // 12
    with pytest.raises(OstrakaError, match="10 persons cannot be shared by 12 teachers") as refused:
        assign(blobs(120), config("none"), 0, persons)
    assert refused.value.code is ErrorCode.DATA_TOO_FEW
    with pytest.raises(OstrakaError, match="Records of one person have different consent levels") as refused:
        assign(with_consent(), config("none"), 0, np.arange(120) % 60)
    assert refused.value.code is ErrorCode.DATA_UNREADABLE
