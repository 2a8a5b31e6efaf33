"""Reports of simulations that learn a number."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ostraka.client.fitting.accuracy import NumberFigures
from ostraka.common.datasets import from_arrays
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.gain import Interval
from ostraka.deploy.simulation.html import PLOTS
from ostraka.deploy.simulation.number_quality import (
    NumberQuality,
    count_numbers,
    name_ranges,
    number_ranges,
)
from ostraka.deploy.simulation.report import SimulationReport, headline, warnings
from ostraka.deploy.simulation.run import simulate
from ostraka.deploy.simulation.settings import Settings
from ostraka.deploy.simulation.split import split_data
from tests.deploy.simulation.test_report import DRAWN, of_sums, worded

WHEN = ("before", "after")
OWN = NumberFigures(Interval(0.2, 0.1, 0.3), Interval(4.0, 3.5, 4.5))
MODEL = NumberFigures(Interval(0.5, 0.4, 0.6), Interval(3.0, 2.5, 3.5), Interval(0.3, 0.2, 0.4))
MEAN = NumberFigures(Interval(-0.01, -0.02, 0.0), Interval(5.0, 4.5, 5.5))
QUALITY = NumberQuality(
    own=OWN,
    after=MODEL,
    pooled=replace(MODEL, r2=Interval(0.55, 0.5, 0.6)),
    constant=MEAN,
    model=DRAWN.model_copy(update={"asked": True, "metrics": None, "gain": None}),
)


def of_numbers(quality: NumberQuality = QUALITY) -> SimulationReport:
    figures = [f"student_{kind}_{when}" for kind in ("accuracy", "balanced_accuracy") for when in WHEN]
    made = of_sums(task="number", gain=None, labels=(), **dict.fromkeys(figures))
    return made.model_copy(update={"quality": quality})


def test_a_page_of_numbers_tells_what_is_explained() -> None:
    page = worded(of_numbers())
    for word in (
        "The model explains 50.0% (95% interval 40.0% to 60.0%) of the variance of 80 test records",
        "by own data alone 20.0% (+30.0 points, 95% interval +20.0 to +40.0)",
        "0.5 (0.4 to 0.6)",
        "3 (2.5 to 3.5)",
        "R^2, all records, not private",
    ):
        assert word in page
    for word in ("all teachers", "balanced accuracy", "most frequent class"):
        assert word not in page
    assert warnings(of_numbers()) == ()


def test_a_report_of_numbers_is_read_back() -> None:
    made = of_numbers()
    assert SimulationReport.model_validate_json(made.model_dump_json()) == made


def test_numbers_have_no_plots_of_classes() -> None:
    left, right = PLOTS["numbers"](of_numbers()).axes
    assert (left.get_xlabel(), right.get_xlabel()) == ("R^2", "mean absolute error")
    with pytest.raises(OstrakaError) as refused:
        PLOTS["comparison"](of_numbers())
    assert refused.value.code is ErrorCode.DATA_MISSING


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (replace(MODEL, r2_over_own=Interval(-0.1, -0.2, -0.05)), "The sums made a worse model"),
        (replace(MODEL, r2_over_own=Interval(0.1, -0.2, 0.3)), "too few to tell whether the sums helped"),
        (replace(MODEL, r2=Interval(0.1, -0.1, 0.2)), "not certainly better than always saying the mean"),
    ],
)
def test_a_poor_model_of_numbers_is_told(model: NumberFigures, told: str) -> None:
    (warning,) = warnings(of_numbers(QUALITY.model_copy(update={"after": model})))
    assert told in warning
    assert headline(of_numbers()).startswith("The model explains")


def test_every_number_is_in_one_range() -> None:
    numbers = np.array([1.0, 2, 3, 4, 5, 6, 7, 8])
    ranges = number_ranges(numbers)
    shards = [from_arrays(np.zeros((4, 1)), part, numeric=True) for part in (numbers[:4], numbers[4:])]
    first, second = count_numbers(["a", "b"], shards, ranges)
    assert (first.counts, second.counts) == ((2, 2, 0, 0), (0, 0, 2, 2))
    assert name_ranges(ranges)[0].name == "1 to 2.75"
    assert number_ranges(np.full(5, 2.0)) == ((2.0, 2.0),)


def numbers_file(folder: Path) -> str:
    random = np.random.default_rng(0)
    X = random.random((120, 3))
    np.savez(folder / "numbers.npz", X=X, y=X[:, 0] + random.random(120))
    return str(folder / "numbers.npz")


def test_votes_on_numbers_are_refused(tmp_path: Path) -> None:
    settings = Settings(data=numbers_file(tmp_path), parties=2, labelled=10, queries=20, teachers=1)
    with pytest.raises(OstrakaError) as refused:
        simulate(settings, tmp_path / "run", announce=lambda _: nullcontext())
    assert refused.value.code is ErrorCode.TASK_NUMERIC
    assert "--learn auto" in refused.value.message


def test_numbers_need_no_records_for_teachers_and_are_split_by_themselves(tmp_path: Path) -> None:
    few = {"data": numbers_file(tmp_path), "parties": 2, "labelled": 10, "queries": 20, "teachers": 1000}
    split = split_data(Settings(**few, learn="auto", split="label-sorted", similarity=0))
    low, high = (shard.numbers() for shard in split.shards)
    assert low.max() <= high.min()
    with pytest.raises(OstrakaError, match="by class, and the records of"):
        split_data(Settings(**few, learn="auto", split="dirichlet", alpha=1.0))
