"""What a plan reveals to the parties about the querying party's records, and warnings before it is paid
for."""

from collections.abc import Iterator

from ostraka.client.learners.maps import share_beyond
from ostraka.client.learners.problem import Problem
from ostraka.common.sums.feature_map import FeatureMap

CLIPPED_HALF = 0.5
"""A plan that clips a larger fraction of records than this gets a warning."""
TOLD_MODELS = "the models of earlier rounds, on which your own records have an influence"
"""Steps depend on own gradients and the pool's curvature, or on how many own records are in each bin."""


def tell_map(problem: Problem) -> tuple[str, ...]:
    """Return what a map reveals to the parties about the pool."""
    if problem.told_pool is None:
        return ()
    ends = () if problem.image else ("the range of each column that holds nearly all of your pool",)
    return (
        *ends,
        "the mean of your pool, and the distance from it within which three quarters of its records lie",
    )


def tell_models(problem: Problem) -> tuple[str, ...]:
    """Return what later questions of a training reveal to the parties about own records."""
    return () if problem.told_features is None else (TOLD_MODELS,)


def warn(problem: Problem, feature_map: FeatureMap | None = None) -> Iterator[str]:
    """Return warnings about a plan, as far as the querying party's own records show them.

    `feature_map` is None for a learner that has none: nothing is clipped by it.
    """
    if problem.unlabelled is None:
        yield (
            "There is no pool, so the ranges of columns are taken from the task. A pool of unlabelled "
            "records like the parties' usually improves the model."
        )
    own = problem.own_features
    if feature_map is not None and own is not None and share_beyond(feature_map, own) > CLIPPED_HALF:
        yield (
            "This plan would clip more than half of all records, judging by your own: give a pool whose "
            "mean may be told, or narrower ranges in the task."
        )
    if problem.records < problem.features:
        yield (
            f"There are fewer records ({problem.records}) than features ({problem.features}): the model "
            "will hardly be better than chance unless most features are correlated."
        )
