import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.datasets import load_digits, load_iris
from torch.nn import functional

from ostraka.client.students.label_dp.clustering import cluster
from ostraka.client.students.label_dp.denoise_ssl import label_counts
from ostraka.client.students.label_dp.simclr import EMBEDDING, contrast, embed


def purity(found: NDArray[np.int32], y: NDArray[np.int64], clusters: int) -> float:
    classes = int(y.max()) + 1
    return float(label_counts(found, y, clusters, classes).max(axis=1).sum() / len(y))


def test_contrast_is_what_its_definition_says() -> None:
    random = torch.Generator().manual_seed(0)
    pair = torch.randn(2, 3, 4, generator=random)
    rows = functional.normalize(pair.reshape(6, 4))
    expected = []
    for row in range(6):
        cosines = {other: float(rows[row] @ rows[other]) / 0.5 for other in range(6) if other != row}
        total = sum(np.exp(cosine) for cosine in cosines.values())
        expected.append(-np.log(np.exp(cosines[(row + 3) % 6]) / total))
    assert float(contrast(pair[0], pair[1])) == pytest.approx(np.mean(expected), rel=1e-5)


def test_an_embedding_is_the_same_for_the_same_seed_and_of_length_one() -> None:
    X = (load_digits().data[:100] / 16).astype(np.float32)
    first, again, other = (embed(X, (8, 8), seed=seed, steps=3) for seed in (1, 1, 2))
    assert (first == again).all()
    assert not (first == other).all()
    assert first.shape == (100, EMBEDDING)
    assert np.linalg.norm(first, axis=1) == pytest.approx(1, rel=1e-5)


@pytest.mark.heavy
def test_a_trained_embedding_clusters_images_better_than_an_untrained_one() -> None:
    X, y = load_digits(return_X_y=True)
    X = (X / 16).astype(np.float32)
    untrained, trained = (embed(X, (8, 8), steps=steps) for steps in (0, 120))
    before, after = (purity(cluster(part, part.shape[1:], 10), y, 10) for part in (untrained, trained))
    assert after > before + 0.05


@pytest.mark.heavy
def test_tables_are_embedded_as_well() -> None:
    X, y = load_iris(return_X_y=True)
    found = cluster(X.astype(np.float32), (4,), 3, "simclr")
    assert purity(found, y, 3) > 0.6
