import numpy as np
import pytest

from ostraka.common.datasets.label_columns import UNKNOWN
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.data import Labelled, Standardization, join

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def test_own_labels_are_certain_targets() -> None:
    targets = Labelled(X, np.array([0, 2, 1])).targets(3)
    np.testing.assert_array_equal(targets, np.eye(3, dtype=np.float32)[[0, 2, 1]])


def test_known_errors_are_shared_by_the_other_classes() -> None:
    error = np.array([0.0, 0.3, 0.5], np.float32)
    targets = Labelled(X, np.array([0, 2, 1]), error).targets(4)
    np.testing.assert_allclose(targets.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(targets[1], [0.1, 0.1, 0.7, 0.1], rtol=1e-6)
    np.testing.assert_allclose(targets[2, 1], 0.5)


def test_labels_have_targets_of_their_own_and_unknown_ones_none() -> None:
    y = np.array([[1, 0], [UNKNOWN, 1], [0, UNKNOWN]])
    error = np.full(y.shape, 0.1, np.float32)
    targets = Labelled(X, y, error).targets(2)
    np.testing.assert_allclose(targets, [[0.9, 0.1], [UNKNOWN, 0.9], [0.1, UNKNOWN]], rtol=1e-6)


@pytest.mark.parametrize(
    ("y", "error"), [(np.zeros(2, np.int64), None), (np.zeros(3, np.int64), np.zeros((3, 2), np.float32))]
)
def test_arrays_of_other_records_are_refused(y: np.ndarray, error: np.ndarray | None) -> None:
    with pytest.raises(OstrakaError) as raised:
        Labelled(X, y, error)
    assert raised.value.code is ErrorCode.DATA_SHAPE


def test_own_records_join_released_ones_as_certain() -> None:
    own = Labelled(X, np.array([0, 1, 2]))
    released = Labelled(X[:1], np.array([1]), np.array([0.2], np.float32))
    both = join(own, released)
    assert both.error is not None
    np.testing.assert_allclose(both.error, [0, 0, 0, 0.2], rtol=1e-6)
    assert join(own, own).error is None
    np.testing.assert_array_equal(both.rows(both.y == 1).y, [1, 1])


def test_columns_of_a_table_are_scaled_each_and_constant_ones_vanish() -> None:
    random = np.random.default_rng(0)
    table = np.stack([random.normal(5, 3, 500), random.normal(-1, 0.1, 500), np.full(500, 0.1)], axis=1)
    scaled = Standardization.of(table.astype(np.float32), (3,)).apply(table.astype(np.float32))
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(scaled.std(axis=0), [1, 1, 0], atol=1e-4)


def test_an_image_keeps_its_contrasts() -> None:
    images = np.random.default_rng(0).uniform(0, 1, (50, 64)).astype(np.float32)
    images[:, 0] = 0
    scaled = Standardization.of(images, (8, 8)).apply(images)
    np.testing.assert_allclose(scaled, (images - images.mean()) / images.std(), atol=1e-4)


def test_nothing_secret_is_in_a_repr() -> None:
    assert repr(Labelled(X, np.array([0, 1, 2]))) == "Labelled()"
