"""Sentences about a student: beside own data alone and the most frequent class, and what is in doubt."""

from dataclasses import asdict, replace
from typing import Any

import pytest
from pydantic import ValidationError

from ostraka.common.learning.gain import Gain, Interval
from ostraka.common.learning.verdict import doubts, read_gain, tell_gain

GAIN = Gain(
    records=1500,
    majority=0.892,
    accuracy=Interval(0.879, 0.862, 0.895),
    balanced_accuracy=Interval(0.505, 0.48, 0.53),
    over_majority=Interval(-0.013, -0.023, -0.005),
    over_own=Interval(0.018, 0.005, 0.031),
    balanced_over_own=Interval(-0.017, -0.048, 0.011),
    most_frequent="No",
)


def test_a_student_is_told_beside_own_data_and_the_most_frequent_class() -> None:
    assert tell_gain(GAIN, "test records") == (
        "The student is right on 87.9% (95% interval 86.2% to 89.5%) of 1500 test records, by own data alone"
        " 86.1% (+1.8 points, 95% interval +0.5 to +3.1). Balanced accuracy over all classes: 50.5% (95%"
        " interval 48.0% to 53.0%), by own data alone 52.2% (-1.7 points, 95% interval -4.8 to +1.1). Always"
        " saying 'No', the most frequent class, is right on 89.2% (-1.3 points, 95% interval -2.3 to -0.5)."
    )
    assert doubts(GAIN, "test records") == (
        "The student is no better than always saying 'No', the most frequent class.",
    )


def test_several_labels_and_no_student_of_own_data_are_told_so() -> None:
    alone = replace(GAIN, over_own=None, balanced_over_own=None, most_frequent="", multi_label=True)
    told = tell_gain(alone, "test records")
    assert "of the labels of 1500 test records. Balanced accuracy over all labels: 50.5%" in told
    assert "Always saying the most frequent value of each label is right on 89.2%" in told


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"over_own": Interval(-0.1, -0.2, -0.05)}, ["The labels made a worse student than own data alone."]),
        ({"over_own": Interval(0.01, 0.0, 0.05)}, ["1500 test records are too few to tell whether"]),
        ({"over_majority": Interval(0.01, -0.01, 0.02)}, ["The student is not certainly better than always"]),
        ({"over_majority": Interval(0.0, 0.0, 0.0)}, ["The student is no better than always saying 'No'"]),
        ({}, []),
    ],
)
def test_what_is_in_doubt_is_told(changes: dict[str, Any], told: list[str]) -> None:
    good = replace(GAIN, over_majority=Interval(0.1, 0.05, 0.15))
    found = doubts(replace(good, **changes), "test records")
    assert len(found) == len(told)
    assert all(one.startswith(start) for one, start in zip(found, told, strict=True))


def test_a_gain_is_read_as_it_was_written() -> None:
    assert read_gain({"gain": asdict(GAIN)}) == GAIN
    assert read_gain({"gain": None}) is None
    assert read_gain({}) is None
    older = {
        name: value for name, value in asdict(GAIN).items() if name not in ("most_frequent", "multi_label")
    }
    assert "Always saying the most frequent class is right" in tell_gain(
        read_gain({"gain": older}) or GAIN, "x"
    )
    with pytest.raises(ValidationError):
        read_gain({"gain": {"records": "many"}})
