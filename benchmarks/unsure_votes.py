"""Whether votes on the records a model of sums is least sure of beat the model alone.

`python -m benchmarks.unsure_votes` compares a model for the whole budget with a model for a share of it and
votes for the rest, at the same epsilon of every record, in one process, on digits and breast cancer.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression

from ostraka.client.learners.choice import choose
from ostraka.client.learners.problem import OwnRecords, Problem
from ostraka.client.sums.local import LocalSums
from ostraka.common.privacy.gaussian import gaussian_budget
from ostraka.common.sums.questions import Rows

POOL = 200
"""Number of records that are labelled, by the model or by votes."""
OWN = 40  # labelled records of the querying party
TEACHERS = 20  # of all parties together
SEEDS = 4  # draws of records and noise
DELTA = 1e-5  # the default of budgets
EPSILONS = (1.0, 8.0)
SHARES = (0.25,)
"""Share of mu^2 for votes."""
ASKED = (10, 40)
"""Number of records that are voted on: the least certain ones."""


@dataclass(frozen=True)
class Split:
    """Records of all parties, of the querying party, and the true labels of its pool."""

    problem: Problem
    rows: Rows
    truth: NDArray[np.int64]


def split(name: str, seed: int) -> Split:
    """Return a data set split at random, with features from 0 to 1."""
    data = load_digits() if name == "digits" else load_breast_cancer()
    X = (data.data - data.data.min(axis=0)) / np.maximum(np.ptp(data.data, axis=0), 1e-9)
    order = np.random.default_rng(seed).permutation(len(X))
    pool, own, rest = np.split(order, [POOL, POOL + OWN])
    classes = int(data.target.max()) + 1
    problem = Problem(
        "classes", classes, X.shape[1], len(rest), X[pool], OwnRecords(X[own], data.target[own])
    )
    rows = Rows(np.zeros((len(rest), 0), np.float32), X[rest], data.target[rest])
    return Split(problem, rows, data.target[pool])


def label_by_model(drawn: Split, mu: float, seed: int) -> NDArray[np.float64]:
    """Return the probabilities of a model of sums with this mu for the pool."""
    choice = choose(drawn.problem, mu)
    plan = choice.learner.plan(drawn.problem, mu)
    source = LocalSums(drawn.rows, plan.sigmas, np.random.default_rng(seed))
    fitted = choice.learner.fit(drawn.problem, plan, source)
    assert drawn.problem.pool is not None
    found: NDArray[np.float64] = fitted.model.predict_proba(drawn.problem.pool)
    return found


def count_votes(drawn: Split, seed: int) -> NDArray[np.float64]:
    """Return the votes (pool, classes) of teachers trained on disjoint parts of all records."""
    assert drawn.problem.pool is not None
    parts = np.random.default_rng(seed).permutation(len(drawn.rows)) % TEACHERS
    votes = np.zeros((POOL, drawn.problem.outputs))
    for teacher in range(TEACHERS):
        own = parts == teacher
        y = drawn.rows.y[own]
        if len(np.unique(y)) > 1:
            said = (
                LogisticRegression(C=10, max_iter=100).fit(drawn.rows.X[own], y).predict(drawn.problem.pool)
            )
        else:
            said = np.full(POOL, y[0])
        votes[np.arange(POOL), said] += 1
    return votes


def compare(name: str, epsilon: float, seed: int) -> list[float]:
    """Return the share of right labels of the pool: by the model alone, then with votes on the least
    certain."""
    drawn = split(name, seed)
    mu = math.sqrt(2 * gaussian_budget(epsilon, DELTA))
    right = [float((label_by_model(drawn, mu, seed).argmax(axis=1) == drawn.truth).mean())]
    votes = count_votes(drawn, seed)
    for share in SHARES:
        probabilities = label_by_model(drawn, mu * math.sqrt(1 - share), seed)
        for asked in ASKED:
            unsure = np.argsort(probabilities.max(axis=1))[:asked]
            # A record changes two counts of a query by 1: mu^2 of all queries is 2 asked / sigma^2.
            sigma = math.sqrt(2 * asked / share) / mu
            noise = np.random.default_rng(seed + 1).normal(0, sigma, votes.shape)
            labels = probabilities.argmax(axis=1)
            labels[unsure] = (votes + noise)[unsure].argmax(axis=1)
            right.append(float((labels == drawn.truth).mean()))
    return right


def main() -> None:
    """Print the means over all seeds."""
    heads = [f"{share:.0%} for {asked} votes" for share in SHARES for asked in ASKED]
    print("| data, epsilon | model alone |", " | ".join(heads), "|")
    print("|" + "---|" * (2 + len(heads)))
    for name in ("digits", "breast cancer"):
        for epsilon in EPSILONS:
            means = np.mean([compare(name, epsilon, seed) for seed in range(SEEDS)], axis=0)
            print(
                f"| {name}, {epsilon:g} |", " | ".join(f"{100 * mean:.1f}" for mean in means), "|", flush=True
            )


if __name__ == "__main__":
    main()
