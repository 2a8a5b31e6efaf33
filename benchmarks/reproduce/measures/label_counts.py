"""Table 7 and Figure 10 of Dziedzic et al. 2023: number of labels per record, and the effect of more
labels."""

import numpy as np

from benchmarks.capc_multilabel.data import QUICK, SETTINGS, load
from benchmarks.reproduce.cell import Claim, Figure, Job, Outcome
from benchmarks.reproduce.measures import yeast
from benchmarks.reproduce.measures.elections import Votes, set_counts
from ostraka.common.mechanism import Binary

CHOSEN = (1, 2, 4, 6, 8, 11)
"""Numbers of labels, the first ones of all."""
QUIET = 0.01
"""Noise that only breaks ties, in votes."""


def of_records(job: Job) -> Outcome:
    """Table 7: number of labels per record."""
    train, _ = load(QUICK if job.quick else SETTINGS[1])
    found = train.y.sum(axis=1)
    return Outcome(
        (
            Figure("labels of a record, mean", (float(found.mean()),)),
            Figure("least", (float(found.min()),)),
            Figure("most", (float(found.max()),)),
        )
    )


def gaps_and_metrics(job: Job) -> Outcome:
    """Figure 10: the winners' mean lead, and their accuracy, by the number of labels."""
    yes, true = yeast.load_votes(job)
    chosen = [few for few in CHOSEN if few <= yes.shape[2]]
    gaps = {few: _gaps(yes[..., :few]) for few in chosen}
    right = {few: _right(yes[..., :few], true[:, :few]) for few in chosen}
    figures = [
        Figure(f"{few} labels: {what} of {way}{unit}", (values[few][place],))
        for what, unit, values in (("mean gap", ", votes", gaps), ("BAC", ", %", right))
        for place, way in enumerate(("Binary", "Powerset"))
        for few in chosen
    ]
    _, first = gaps[chosen[0]]
    _, last = gaps[chosen[-1]]
    return Outcome(
        tuple(figures),
        (
            Claim("more labels take most of Powerset's gap", last < first / 2),
            Claim("Binary's gap is the larger one", gaps[chosen[-1]][0] > last),
        ),
    )


def _gaps(yes: Votes) -> tuple[float, float]:
    ordered = np.sort(set_counts(yes), axis=1)
    runner_up = ordered[:, -2] if ordered.shape[1] > 1 else 0.0
    by_label = np.abs(2 * yes.sum(axis=0) - len(yes))
    return float(by_label.mean()), float((ordered[:, -1] - runner_up).mean())


def _right(yes: Votes, true: yeast.Labels) -> tuple[float, float]:
    """Return the balanced accuracy of labels without noise, in %, by label and by set."""
    quiet = np.random.default_rng(0)
    by_label = yeast.by_label(yes, Binary(sigma=QUIET), quiet)
    return 100 * yeast.bac(true, by_label), 100 * yeast.bac(true, yeast.by_set(yes, QUIET, quiet))
