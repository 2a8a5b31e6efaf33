import json
import sys
from dataclasses import astuple, replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.dpsgd.cells import cell, mean_and_deviation
from benchmarks.dpsgd.data import DELTA, PROBLEMS, Split, load, standardise
from benchmarks.dpsgd.learning import Training, dpsgd
from benchmarks.dpsgd.measures import Measure, by_label, measure
from benchmarks.dpsgd.tables import HEADS, markdown, rows
from ostraka.common.errors import OstrakaError

DIGITS = PROBLEMS[0]
SHORT = Training(epochs=3, batch=128, rate=0.3)


@pytest.fixture(scope="module")
def digits() -> Split:
    return load(DIGITS)


def learned(digits: Split, y: NDArray[np.int64], epsilon: float | None) -> NDArray[np.float64]:
    classes = y.shape[1] if y.ndim > 1 else 10
    trained = dpsgd(digits.X, y, epsilon, DELTA, classes=classes, training=SHORT)
    assert (
        trained.noise is None or 0.9 * (epsilon or 0) < trained.noise.epsilon(DELTA) <= (epsilon or 0) * 1.01
    )
    return trained.predict_proba(digits.X_test)


@pytest.mark.heavy
def test_digits_are_learned_with_noise_and_better_without(digits: Split) -> None:
    with_noise, plain = (measure(digits.y_test, learned(digits, digits.y, e)) for e in (3.0, None))
    assert 0.7 < with_noise.acc < plain.acc


@pytest.mark.heavy
def test_labels_are_learned_each_by_itself(digits: Split) -> None:
    def labels(y: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.stack([y % 2, y > 4], axis=1).astype(np.int64)

    p = learned(digits, labels(digits.y), 3.0)
    assert p.shape == (len(digits.y_test), 2)
    assert measure(labels(digits.y_test), p).auc > 0.75


@pytest.mark.heavy
def test_the_same_seed_gives_the_same_network(digits: Split) -> None:
    first, second = (learned(digits, digits.y, 3.0) for _ in range(2))
    assert np.array_equal(first, second)


def test_without_the_extra_it_says_at_once_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opacus", None)
    monkeypatch.setattr("benchmarks.dpsgd.learning.calibrate", lambda *_: pytest.fail("noise was calibrated"))
    with pytest.raises(OstrakaError, match=r"pip install 'ostraka\[dpsgd\]'"):
        dpsgd(np.zeros((4, 2), np.float32), np.zeros(4, np.int64), 1.0, DELTA, classes=2)


def test_a_cell_is_trained_once_and_the_cache_read_afterwards(tmp_path: Path) -> None:
    problem = replace(DIGITS, training=SHORT)
    first = cell(problem, None, 0, tmp_path)
    (file,) = tmp_path.iterdir()
    kept = json.loads(file.read_text())
    file.write_text(json.dumps(kept | {"measure": kept["measure"] | {"acc": 0.125}}))
    assert cell(problem, None, 0, tmp_path) == replace(first, measure=replace(first.measure, acc=0.125))
    longer = replace(problem, training=replace(SHORT, epochs=4))
    assert cell(longer, None, 0, tmp_path).measure.acc != 0.125


def test_measures_of_classes_and_labels() -> None:
    y = np.array([0, 0, 0, 1])
    p = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.4, 0.6]])
    assert astuple(measure(y, p)) == pytest.approx((0.75, 5 / 6, 2 / 3, (11 / 12 + 0.5) / 2))
    labels = np.stack([y, np.zeros(4, np.int64)], axis=1)
    both = by_label(labels, p[:, ::-1])
    assert both[1] is None
    assert both[0] is not None
    assert astuple(both[0]) == pytest.approx((0.75, 5 / 6, 2 / 3, 0.5))
    assert measure(labels, p[:, ::-1]).bac == both[0].bac


def test_tables_have_mean_and_deviation_over_seeds() -> None:
    low, high = Measure(0.5, 0.5, 0.5, 0.5), Measure(0.7, 0.5, 0.5, 0.5)
    mean, deviation = mean_and_deviation([low, high])
    assert mean.acc == pytest.approx(0.6)
    assert deviation.acc == pytest.approx(0.2 / np.sqrt(2))
    assert mean_and_deviation([low])[1].acc == 0
    table = markdown(HEADS, rows([]))
    assert table.count("\n") == 2


def test_features_are_standardised_by_public_records_alone() -> None:
    public = np.array([[0.0, 1.0], [2.0, 1.0]], dtype=np.float32)
    assert standardise(np.array([[3.0, 2.0]], dtype=np.float32), public).tolist() == [[2.0, 1.0]]
