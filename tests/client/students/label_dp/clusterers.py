"""Factories of clusterers, named the way users name theirs."""

from sklearn.cluster import DBSCAN, KMeans


def sparse() -> DBSCAN:
    return DBSCAN(eps=0.8, min_samples=5)


def none() -> object:
    return object()


class Stubborn(KMeans):  # type: ignore[misc]  # scikit-learn has no types
    """Always makes five clusters."""

    def fit_predict(self, X: object, y: None = None, sample_weight: None = None) -> object:
        return KMeans(5, n_init=1).fit_predict(X)


def stubborn() -> Stubborn:
    return Stubborn()
