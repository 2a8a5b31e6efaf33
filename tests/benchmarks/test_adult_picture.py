"""The picture of README.md has every way with its accuracy, and Adult is written as a table of words."""

from pathlib import Path

import numpy as np
from pyarrow import csv

from benchmarks.advice import adult
from ostraka.common.learning.gain import Interval
from ostraka.common.page.drawing import draw
from ostraka.deploy.advice.advise import Advice
from ostraka.deploy.advice.attempts import WayName
from ostraka.deploy.advice.comparison import WayFigures
from ostraka.deploy.advice.recommendation import Recommendation
from ostraka.deploy.advice.splits import Amounts


def figures(way: WayName, variant: str, accuracy: float) -> WayFigures:
    interval = Interval(accuracy, accuracy - 0.02, accuracy + 0.02)
    return WayFigures(way, variant, 2.0, interval, interval, None, 0, 0, 0, 0, 0, 0, {"total": 470})


def advice(*ways: WayFigures) -> Advice:
    amounts = Amounts(own=200, pool=2000, test=2000, private=28_328, shown=5800)
    found = Recommendation("sums", "bins", "Use noisy sums.", ())
    return Advice(adult.OPTIONS, amounts, 48_842, 104, 6, "accuracy", ways, found, {}, 1.0)


def test_every_way_is_drawn_the_least_accurate_on_top() -> None:
    drawn = draw(
        adult.plot,
        advice(
            figures("sums", "bins", 0.854), figures("votes", "60", 0.833), figures("own", "forest", 0.814)
        ),
    )
    places = [
        drawn.index(name) for name in ("your 200 records alone", "votes of 470 teachers", "noisy sums: bins")
    ]
    assert places == sorted(places)
    assert all(f">{mean}<" in drawn for mean in ("81.4", "83.3", "85.4"))


def test_indicators_become_words(tmp_path: Path) -> None:
    names = [f"{column}_{word}" for column in adult.COLUMNS for word in ("a", "b") if column != "age"]
    features = np.zeros((2, 1 + len(names)), dtype=int)
    features[:, 0] = (39, 50)
    features[0, 1 + names.index("sex_b")] = 1
    arrays = {
        "feature_names": np.array(["age", *names]),
        "X_train": features[:1],
        "X_test": features[1:],
        "y_train": np.array([1]),
        "y_test": np.array([0]),
    }
    adult.write_table(arrays, tmp_path / "adult.csv")
    written = csv.read_csv(tmp_path / "adult.csv").to_pydict()
    assert list(written) == [*adult.COLUMNS, adult.LABEL]
    assert (written["age"], written["income"]) == ([39, 50], [">50K", "<=50K"])
    assert written["sex"] == ["b", ""]
