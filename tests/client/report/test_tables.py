"""What people read of a student on a terminal."""

from dataclasses import asdict, replace
from typing import Any

from rich.console import Console

from ostraka.client.report.tables import student
from ostraka.common.learning.gain import Interval
from tests.common.learning.test_verdict import GAIN

METRICS = {"accuracy": 0.879, "balanced_accuracy": 0.505, "auc": 0.7, "map": 0.4, "labels": ()}
FIGURES: dict[str, Any] = {
    "student": "supervised",
    "model": "logistic_regression",
    "labelled": 80,
    "released": 118,
    "measured_on": "test records",
    "measured": 1500,
    "before": METRICS,
    "after": METRICS,
}


def text_of(figures: dict[str, Any]) -> str:
    console = Console(width=400)
    with console.capture() as said:
        console.print(student(figures))
    return said.get()


def test_a_student_that_says_one_class_does_not_look_good() -> None:
    said = text_of(FIGURES | {"gain": asdict(GAIN)})
    assert "by own data alone 86.1% (+1.8 points, 95% interval" in said
    assert "Warning: The student is no better than always saying 'No', the most frequent class." in said
    better = replace(GAIN, over_majority=Interval(0.1, 0.05, 0.15))
    assert "Warning" not in text_of(FIGURES | {"gain": asdict(better)})


def test_a_student_of_an_earlier_version_is_told_without() -> None:
    said = text_of(FIGURES)
    assert "0.879" in said
    assert "Always" not in said
