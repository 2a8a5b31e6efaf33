"""Figure 2 of Dodwadmath and Stich 2022: accuracy of labels by LNMax against gamma."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from benchmarks.heterogeneity.cells import Cell
from benchmarks.heterogeneity.data import CLASSES, Split
from benchmarks.heterogeneity.networks import Votes
from benchmarks.heterogeneity.teachers import SIMILARITIES, Training
from benchmarks.heterogeneity.voting import answer, histograms
from ostraka.common.mechanism import LnMax

GAMMAS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
COLOURS = dict(zip(SIMILARITIES, ("#d55e00", "#e69f00", "#009e73", "#0072b2"), strict=True))
LINES = {Training.CONVENTIONAL: "--", Training.TTAC: "-", Training.DP_TTAC: ":"}


def plot(cells: Sequence[Cell], split: Split, target: Path) -> None:
    """Draw a line for each ensemble, with all public records labelled once; write an image."""
    figure = Figure(figsize=(8, 4.2), layout="constrained")
    axes = figure.subplots()
    for cell in cells:
        accuracies = [100 * label_accuracy(cell.votes, split, gamma) for gamma in GAMMAS]
        axes.plot(
            GAMMAS,
            accuracies,
            LINES[cell.training],
            marker=".",
            color=COLOURS[cell.similarity],
            label=f"{cell.training.value}, s = {cell.similarity}%",
        )
    axes.set(xlabel="gamma", ylabel="labels right, %", ylim=(0, 100))
    figure.legend(loc="outside right upper", frameon=False)
    figure.savefig(target, dpi=120)


def label_accuracy(votes: Votes, split: Split, gamma: float) -> float:
    """Return how often LNMax labels a public record correctly with votes (teachers, public)."""
    answers = answer(histograms(votes, CLASSES), LnMax(gamma=gamma), np.random.default_rng(0))
    return float((answers.labels == split.public.y).mean())
