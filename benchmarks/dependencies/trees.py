"""Savings of trees of rules over one level of absence, on yeast: `python -m benchmarks.dependencies.trees`.

Figure 5 of Dziedzic et al. 2023 asks the same on CheXpert, which is only available on application.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.dependencies.asking import Counted, parents_first
from benchmarks.dependencies.cells import SETTINGS
from benchmarks.dependencies.votes import Votes, votes
from benchmarks.dpsgd.measures import measure
from ostraka.client.dependencies.learn import SUPPORT, Absences, choose_rules, complement
from ostraka.guardian.noise import ExactNoise

CACHE = Path("runs/dependencies")
CONFIDENCES = (0.9, 0.8, 0.7)  # 0.9 is that of the rows next to it in docs/dependencies.md
HEADS = ("confidence", "way", "rules", "levels", "labels asked", "worst case", "exact", "ACC", "BAC")


def main() -> None:
    """Print a row for each way and confidence, of one seed, or that the data are missing."""
    setting = SETTINGS[0]
    if not setting.shared.there:
        print("trees of yeast's labels: skipped, ../shared/data lies not beside the checkout")
        return
    own = votes(setting.shared, setting.teachers, setting.pool, seed=0, cache=CACHE)
    counted = Counted(own.yes.sum(axis=0, dtype=np.int64), len(own.yes), setting.sigma)
    labels = counted.release(ExactNoise())
    table = Table(*HEADS)
    everything = np.ones(labels.shape, dtype=np.bool_)
    table.add_row("", "all labels", "", "", *_figures(counted, labels, everything, own))
    for confidence in CONFIDENCES:
        families = own.families(confidence)
        one = parents_first(labels, families)
        rules = str(sum(map(len, families.values())))
        table.add_row(str(confidence), "one level", rules, "1", *_figures(counted, *one, own))
        chosen = _learn(own.own, confidence)
        levels = str(max(map(len, _lines(chosen)), default=1) - 1)
        trees = by_trees(labels, chosen)
        table.add_row("", "trees", str(len(chosen)), levels, *_figures(counted, *trees, own))
    Console(width=120).print(table)


def by_trees(
    labels: NDArray[np.int64], chosen: Mapping[int, tuple[int, int]]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Reduce answers (pool, labels): implied labels are not asked, nor what they imply.

    `chosen` is as `choose_rules` returns it. Returns labels, and which of them were asked.
    """
    kept = labels.copy()
    asked = np.ones(labels.shape, dtype=np.bool_)
    for *_, parent, child in sorted(_lines(chosen), key=len):
        value = chosen[child][1]
        rows = kept[:, parent] == value
        kept[rows, child] = value
        asked[rows, child] = False
    return kept, asked


def _lines(chosen: Mapping[int, tuple[int, int]]) -> list[list[int]]:
    """Return the line of each child, from the label that nothing implies."""
    lines = []
    for child in chosen:
        line = [child]
        while line[0] in chosen:
            line.insert(0, chosen[line[0]][0])
        lines.append(line)
    return lines


def _learn(own: NDArray[np.int64], confidence: float) -> dict[int, tuple[int, int]]:
    known = Absences.of(own), Absences.of(complement(own))
    return choose_rules(np.stack([each.gains(confidence, SUPPORT) for each in known]))


def _figures(
    counted: Counted, labels: NDArray[np.int64], asked: NDArray[np.bool_], own: Votes
) -> tuple[str, ...]:
    found = measure(own.true, labels.astype(np.float64))
    fitting = (str(counted.fitting(asked, bound)) for bound in ("worst_case", "exact"))
    shares = (f"{100 * share:.1f}" for share in (found.acc, found.bac))
    return f"{asked.sum(axis=1).mean():.1f}", *fitting, *shares


if __name__ == "__main__":
    main()
