"""Tables 2 and 8 of Tang et al. 2022, the rows of RandRes: how many labels stay true, and how long it
takes."""

import numpy as np

from benchmarks.reproduce.cell import Figure, Job, Outcome
from benchmarks.timing import best
from ostraka.services.hosting.records import randomize

ROWS = {
    "CIFAR10": (10, 50_000, {0.5: 15.5, 1.0: 23.2, 2.0: 45.2, 4.0: 85.9}),
    "CIFAR100": (100, 50_000, {1.0: 2.7, 2.0: 6.9, 4.0: 35.8, 6.0: 80.4}),
    "CINIC10": (10, 90_000, {0.5: 15.4, 1.0: 23.2, 2.0: 45.0, 4.0: 85.9}),
}
"""Classes, training labels and the published percentages. The labels' values do not matter."""


def private_labels(job: Job) -> Outcome:
    """Randomize as many labels as each data set has, with the code of parties."""
    figures = []
    for name, (classes, labels, published) in ROWS.items():
        y = np.arange(labels // (10 if job.quick else 1)) % classes
        for epsilon, paper in published.items():
            kept = [100 * float((randomize(y, classes, epsilon) == y).mean()) for _ in job.seeds]
            figures.append(Figure(f"{name}, epsilon {epsilon:g}: true, %", tuple(kept), paper, close=0.02))
    return Outcome(tuple(figures))


def seconds(job: Job) -> Outcome:
    """Time the labels of CIFAR10."""
    classes, labels, _ = ROWS["CIFAR10"]
    y = np.arange(labels) % classes
    taken = best(lambda: randomize(y, classes, 1.0))
    return Outcome((Figure(f"milliseconds for {labels:,} labels", (1000 * taken,), 500.0, "lower"),))
