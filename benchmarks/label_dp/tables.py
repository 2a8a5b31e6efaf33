"""Measurements as Markdown, next to the tables of Tang et al. 2022."""

import math
from collections.abc import Iterator, Sequence

from benchmarks.label_dp import paper
from benchmarks.label_dp.cells import Cell
from benchmarks.label_dp.data import CLASSES, Dataset, Size
from benchmarks.label_dp.methods import Measure
from benchmarks.label_dp.settings import (
    ALIBI,
    AUG_DESCENT,
    BASELINES,
    DENOISE_SSL,
    EPSILONS,
    LDP_NORMAL,
    LDP_SSL,
    LP_1ST,
    LP_2ST,
    METHODS,
    NOISE_CLUSTER,
    NON_PRIVATE,
    PATE_FM,
    VERY_SMALL,
)
from ostraka.common.mechanism import RandRes

Measures = dict[Cell, Measure]
PUBLISHED = "Tang et al. 2022, CIFAR10"
NAMES = {
    NON_PRIVATE: "true labels",
    NOISE_CLUSTER: "NoiseCluster",
    DENOISE_SSL: "RandRes + DenoiseSSL",
    LDP_SSL: "RandRes + LDP-SSL",
    AUG_DESCENT: "RandRes + LDP-Aug-Descent",
    LDP_NORMAL: "RandRes + LDP-Normal",
    PATE_FM: "PATE-FM + SSL",
    f"{PATE_FM}+{DENOISE_SSL}": "PATE-FM + DenoiseSSL",
    f"{PATE_FM}+{LDP_SSL}": "PATE-FM + LDP-SSL",
    f"{PATE_FM}+{AUG_DESCENT}": "PATE-FM + LDP-Aug-Descent",
    ALIBI: "ALIBI",
    LP_1ST: "LP-1ST with mixup",
    LP_2ST: "LP-2ST with mixup",
}
COLUMNS = (VERY_SMALL, *EPSILONS)
NONE = "-"


def tables(measures: Measures, sizes: dict[Dataset, Size]) -> Iterator[str]:
    """Yield Markdown: private labels, then students, for every measured dataset."""
    yield _private(measures, sizes)
    for dataset in sizes:
        yield _students(measures, dataset)
        yield _pate(measures, dataset)


def _private(measures: Measures, sizes: dict[Dataset, Size]) -> str:
    """Return Table 2: accuracy of private labels, RandRes next to Equation 6 with its sampling error."""
    lines = []
    for dataset, size in sizes.items():
        for name, method in (("RandRes", LDP_NORMAL), ("PATE-FM", PATE_FM)):
            row = [_cell_text(measures, dataset, method, epsilon, "private") for epsilon in EPSILONS]
            lines.append([f"{dataset}, {name}", *row])
        formula = [_formula(epsilon, CLASSES[dataset], size.train * size.seeds) for epsilon in EPSILONS]
        lines.append([f"{dataset}, Equation 6", *formula])
    lines += [[f"{PUBLISHED}, {name}", *map(str, row)] for name, row in paper.CIFAR10.private.items()]
    return _markdown("Private labels that are right, %", ("labels", *_heads(EPSILONS)), lines)


def _students(measures: Measures, dataset: Dataset) -> str:
    """Return Tables 3 to 6."""
    lines = []
    for method in (NOISE_CLUSTER, *METHODS, *BASELINES):
        row = [_cell_text(measures, dataset, method, epsilon, "accuracy") for epsilon in COLUMNS]
        published = [paper.CIFAR10.student(method, epsilon) for epsilon in EPSILONS]
        if method in BASELINES:
            published = [paper.CIFAR10.beside(method, epsilon) for epsilon in EPSILONS]
        lines.append([NAMES[method], *row, NONE if None in published else " / ".join(map(str, published))])
    title = f"{dataset}: accuracy on test records, %"
    best = _cell_text(measures, dataset, NON_PRIVATE, None, "accuracy")
    lines.append([NAMES[NON_PRIVATE], *[best] * len(COLUMNS), str(paper.CIFAR10.non_private)])
    return _markdown(title, ("labels and learner", *_heads(COLUMNS), f"{PUBLISHED}, 0.5 to 4"), lines)


def _pate(measures: Measures, dataset: Dataset) -> str:
    """Return how many labels PATE-FM's budgets paid for."""
    first = [next(iter(_of(measures, dataset, PATE_FM, epsilon)), Measure(None)) for epsilon in EPSILONS]
    labels = [NONE if one.learned is None else str(one.learned) for one in first]
    worst = [NONE if one.worst_case is None else f"{one.worst_case:.2f}" for one in first]
    lines = [["labels", *labels], ["epsilon whatever the votes", *worst]]
    return _markdown(f"{dataset}: PATE-FM's labels, first seed", ("", *_heads(EPSILONS)), lines)


def _formula(epsilon: float, classes: int, labels: int) -> str:
    truth = RandRes(epsilon=epsilon).truth(classes)
    return f"{100 * truth:.1f} ± {100 * math.sqrt(truth * (1 - truth) / labels):.1f}"


def _cell_text(measures: Measures, dataset: Dataset, method: str, epsilon: float | None, field: str) -> str:
    """Return the mean over seeds, and their standard deviation if there are several."""
    found = [getattr(one, field) for one in _of(measures, dataset, method, epsilon)]
    if not found or None in found:
        return NONE
    mean = sum(found) / len(found)
    if len(found) == 1:
        return f"{100 * mean:.1f}"
    deviation = math.sqrt(sum((one - mean) ** 2 for one in found) / (len(found) - 1))
    return f"{100 * mean:.1f} ({100 * deviation:.1f})"


def _of(measures: Measures, dataset: Dataset, method: str, epsilon: float | None) -> list[Measure]:
    wanted = (dataset, method, epsilon)
    return [one for cell, one in measures.items() if (cell.dataset, cell.method, cell.epsilon) == wanted]


def _heads(epsilons: Sequence[float]) -> tuple[str, ...]:
    return tuple(f"epsilon {epsilon:g}" for epsilon in epsilons)


def _markdown(title: str, heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [heads, ["---"] * len(heads), *lines]
    return "\n".join([f"**{title}**", "", *("| " + " | ".join(row) + " |" for row in rows), ""])
