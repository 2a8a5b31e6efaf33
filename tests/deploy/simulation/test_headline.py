"""Sentences of a report that people read first."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ostraka.common.learning.gain import Interval
from ostraka.common.learning.verdict import tell_gain
from ostraka.deploy.simulation.html import command_of
from ostraka.deploy.simulation.quality import balanced_accuracy, count_classes
from ostraka.deploy.simulation.report import headline, split_sentence, warnings
from ostraka.deploy.simulation.settings import Settings
from tests.deploy.simulation.test_report import GAIN, report, unit


def test_the_gain_is_told_with_its_interval_beside_trivial_answers() -> None:
    told = headline(report())
    assert tell_gain(GAIN, "test records") in told


def test_budgets_that_differ_are_told() -> None:
    first, second = unit("a"), unit("b")
    second = second.model_copy(update={"epsilon_budget": 20.0, "epsilon_data_dependent": 15.5})
    told = headline(report(units=(first, second)))
    assert f"spent {first.epsilon_data_dependent:.2f} to 15.50 of its epsilon of 10 to 20" in told


def test_every_record_is_accounted_for() -> None:
    told = split_sentence(report())
    assert told == "151 records: 2 the querying party's own, 6 its pool, 80 to test on, 63 with 7 parties."


def test_a_baseline_on_a_sample_says_of_how_many_records_it_is() -> None:
    made = report()
    quality = made.quality.model_copy(update={"ensemble_records": 20})
    told = split_sentence(made.model_copy(update={"quality": quality}))
    assert told.endswith(" The teachers without privacy are tested on 20 of the 80, drawn at random.")


def test_a_report_without_a_gain_still_tells_accuracies() -> None:
    assert "right on 90.0% of the test records, by own data alone on 80.0%." in headline(report(gain=None))
    assert warnings(report(gain=None, classes=())) == ()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"over_own": Interval(-0.1, -0.2, -0.05)}, "The labels made a worse student"),
        ({"over_own": Interval(0.01, -0.02, 0.05)}, "80 test records are too few to tell"),
        ({"over_majority": Interval(0.0, 0.0, 0.0)}, "no better than always saying"),
    ],
)
def test_gains_that_are_none_are_warned_of(changes: dict[str, Any], told: str) -> None:
    assert any(told in one for one in warnings(report(gain=replace(GAIN, **changes))))
    assert not any(told in one for one in warnings(report()))


def test_labels_of_one_class_alone_do_not_look_right() -> None:
    truth = np.array([0] * 40 + [1] * 3)
    counts = count_classes(("well", "ill"), truth, np.where(truth == 0, 0, -1))
    assert balanced_accuracy(counts, ()) == 0.5
    assert "No record of class ill got a label, only of well" in warnings(report(classes=counts))[0]


def test_the_command_repeats_what_was_chosen() -> None:
    settings = Settings(data="my records.csv", parties=7, enforce="data_dependent")
    assert command_of(settings) == (
        "ostraka simulate --data 'my records.csv' --parties 7 --enforce data_dependent"
    )
    assert command_of(Settings()) == "ostraka simulate"
    assert command_of(Settings(quorum=3, seed=4)) == "ostraka simulate --config FILE --seed 4"
