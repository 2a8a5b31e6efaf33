from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from ostraka.client.students.label_dp.clustering import cluster
from ostraka.common.errors import ErrorCode, OstrakaError

SHAPE = (8, 8)


@pytest.fixture(scope="module")
def digits() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    X, y = load_digits(return_X_y=True)
    return (X / 16).astype(np.float32), y


def test_kmeans_finds_what_labels_would_say(digits: Any) -> None:
    X, y = digits
    found = cluster(X, SHAPE, 10)
    assert found.dtype == np.int32
    assert sorted(set(found.tolist())) == list(range(10))
    assert adjusted_rand_score(y, found) > 0.5


def test_the_same_seed_gives_the_same_clusters(digits: Any) -> None:
    X, _ = digits
    assert (cluster(X, SHAPE, 5, seed=3) == cluster(X, SHAPE, 5, seed=3)).all()


@pytest.mark.parametrize(
    "name",
    [
        "sklearn.cluster:AgglomerativeClustering",
        "sklearn.mixture:GaussianMixture",
        "sklearn.cluster:MiniBatchKMeans",
    ],
)
def test_any_clusterer_of_scikit_learn_will_do(digits: Any, name: str) -> None:
    X, _ = digits
    assert sorted(set(cluster(X[:300], SHAPE, 4, name).tolist())) == [0, 1, 2, 3]


def test_records_that_a_clusterer_takes_for_noise_are_a_cluster(digits: Any) -> None:
    X, _ = digits
    found = cluster(X, SHAPE, 50, "tests.client.students.label_dp.clusterers:sparse")
    assert found.min() == 0
    assert found.max() < 50


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere:clusterer", "choose one of kmeans, simclr"),
        ("kmens", "choose one of kmeans, simclr"),
        ("", "choose one of kmeans, simclr"),
        ("sklearn.cluster:nothing", "choose one of kmeans, simclr"),
        ("tests.client.students.label_dp.clusterers:none", "makes no scikit-learn clusterer"),
        ("sklearn.decomposition:PCA", "failed"),
        ("tests.client.students.label_dp.clusterers:stubborn", "one of 2 clusters"),
    ],
)
def test_what_is_no_clusterer_is_refused_in_a_sentence(digits: Any, name: str, said: str) -> None:
    with pytest.raises(OstrakaError, match=said) as refused:
        cluster(digits[0][:100], SHAPE, 2, name)
    assert refused.value.code == ErrorCode.CONFIG_INVALID


def test_fewer_records_than_clusters_are_refused(digits: Any) -> None:
    with pytest.raises(OstrakaError, match="3 records make no 4 clusters") as refused:
        cluster(digits[0][:3], SHAPE, 4)
    assert refused.value.code == ErrorCode.DATA_TOO_FEW


def test_records_that_are_all_the_same_are_one_cluster() -> None:
    assert set(cluster(np.ones((9, 4), np.float32), (4,), 3).tolist()) == {0}
