"""Clustering of features, without labels."""

import importlib
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.client.students.registry import KMEANS
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.device import AUTO

Features = NDArray[np.float32]
Assignments = NDArray[np.int32]

SIMCLR = "simclr"
NAMED = (KMEANS, SIMCLR)
STARTS = 4
"""Number of k-means starts; the best result is kept."""


def cluster(
    features: Features,
    shape: tuple[int, ...],
    k: int,
    name: str = KMEANS,
    seed: int = 0,
    device: str = AUTO,
) -> Assignments:
    """Return the cluster of every record, int32 (N,), each in 0..k-1; deterministic.

    Args:
        features: prepared features, flat float32 (N, F).
        shape: of one record, (F,) or an image's (h, w) or (c, h, w), which selects the augmentations.
        k: number of clusters; some may stay empty.
        name: "kmeans"; "simclr", k-means of a self-supervised embedding that is trained for it; or
            "module:factory", a callable without arguments that makes a scikit-learn clusterer, whose
            n_clusters (or n_components) and random_state are set if it has them.
        seed: of initial centres, weights and augmentations.
        device: where an embedding is trained, by name.

    Raises `data.too_few` for fewer records than clusters, `config.invalid` for a clusterer that cannot be
    found, is not one, or makes more clusters than `k`.
    """
    if len(features) < k:
        raise OstrakaError(
            ErrorCode.DATA_TOO_FEW,
            f"{len(features)} records make no {k} clusters: ask for fewer clusters or give more records.",
        )
    if name == SIMCLR:
        from ostraka.client.students.label_dp.simclr import embed

        features = embed(features, shape, seed=seed, device=device)
    found = _fit(_clusterer(name, k, seed), features, name)
    if found.shape != (len(features),) or len(np.unique(found)) > k:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"The clusterer {name} did not put each record into one of {k} clusters: "
            "set how many it makes, or ask for more.",
        )
    return np.unique(found, return_inverse=True)[1].astype(np.int32)


def _clusterer(name: str, k: int, seed: int) -> Any:
    from sklearn.cluster import KMeans

    if name in NAMED:
        return KMeans(k, n_init=STARTS, random_state=seed)
    clusterer = _factory(name)()
    try:
        known = clusterer.get_params()
        wanted = {"n_clusters": k, "n_components": k, "random_state": seed}
        return clusterer.set_params(**{key: value for key, value in wanted.items() if key in known})
    except AttributeError as exc:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, f"{name} makes no scikit-learn clusterer: name one that does."
        ) from exc


def _factory(name: str) -> Any:
    module, _, factory = name.partition(":")
    try:
        return getattr(importlib.import_module(module), factory)
    except (ImportError, AttributeError, ValueError) as exc:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"There is no clusterer {name}: choose one of {', '.join(NAMED)}, or module:factory of an "
            "installed module.",
        ) from exc


def _fit(clusterer: Any, features: Features, name: str) -> NDArray[np.int64]:
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            return np.asarray(clusterer.fit_predict(features))
        except (AttributeError, TypeError, ValueError) as exc:
            raise OstrakaError(
                ErrorCode.CONFIG_INVALID, f"The clusterer {name} failed ({exc}): choose another."
            ) from exc
