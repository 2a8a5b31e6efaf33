"""What noisy counts say of a column."""

import numpy as np
import pytest

from ostraka.client.describing.counted_columns import CountedColumn
from ostraka.client.describing.figures import count_records, read_figures
from ostraka.common.sums.questions import ColumnStatistic

AGE = CountedColumn(
    "age", ColumnStatistic(0, 0.0, 40.0, 4), ("0 to 10", "10 to 20", "20 to 30", "30 to 40"), True
)
SEX = CountedColumn("sex", ColumnStatistic(1, -0.5, 1.5, 2), ("f", "m"), False)
COUNTS = np.array([100.0, 200.0, 100.0, 0.0, 50.0, 240.0, 210.0, 0.0])


def test_means_and_quartiles_are_those_of_the_histogram() -> None:
    age, sex = read_figures((AGE, SEX), COUNTS, 0.01)
    assert age.mean is not None
    assert age.mean.estimate == pytest.approx(15.0)
    assert [one.estimate for one in age.quantiles] == pytest.approx([10.0, 15.0, 20.0])
    assert age.missing.estimate == 50
    assert (sex.mean, sex.quantiles) == (None, ())
    assert count_records((age, sex), (5, 3), 0.01).estimate == pytest.approx(450)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    random = np.random.default_rng(3)
    sigma = 8.0
    held = np.zeros(3)
    tries = 60
    for _ in range(tries):
        age, _ = read_figures((AGE, SEX), COUNTS + random.normal(0, sigma, len(COUNTS)), sigma)
        assert age.mean is not None
        # The mean's holds wherever in the bins the numbers are: from 10 to 20, if at their ends.
        truths = ((age.mean, 15.0), (age.counts[1].count, 200.0), (age.records, 400.0))
        held += [interval.low <= truth <= interval.high for interval, truth in truths]
    # 95% of 60 are 57: 42 or fewer are less likely than one in 10^9.
    assert (held > 42).all(), held


def test_means_and_quartiles_hold_wherever_in_its_bin_a_number_is() -> None:
    ages = np.array([1.0] * 100 + [10.0] * 200 + [29.0] * 100)
    age, _ = read_figures((AGE, SEX), COUNTS, 0.01)
    assert age.mean is not None
    assert age.mean.low < ages.mean() < age.mean.high
    for share, one in zip((0.25, 0.5, 0.75), age.quantiles, strict=True):
        assert one.low <= np.quantile(ages, share) <= one.high


def test_whole_numbers_that_are_counted_one_by_one_are_themselves() -> None:
    children = CountedColumn("n", ColumnStatistic(0, -0.5, 2.5, 3), ("0", "1", "2"), True, whole=True)
    (figures,) = read_figures((children,), np.array([10.0, 60.0, 30.0, 0.0]), 0.01)
    assert figures.mean is not None
    assert figures.mean.estimate == pytest.approx(1.2)
    assert [(one.low, one.estimate, one.high) for one in figures.quantiles] == [
        (1, 1, 1),
        (1, 1, 1),
        (2, 2, 2),
    ]


def test_noise_alone_has_no_mean() -> None:
    age, _ = read_figures((AGE, SEX), np.array([5.0, -3.0, 2.0, 1.0, 0.0, 1.0, 2.0, 0.0]), 10.0)
    assert (age.mean, age.quantiles) == (None, ())
