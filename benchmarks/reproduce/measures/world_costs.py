"""Costs compared with dp_accounting's, and with loops over the published formulas."""

from collections.abc import Callable, Mapping, Sequence
from time import process_time

import numpy as np

from benchmarks import accounting
from benchmarks.reproduce.cell import Figure, Job, Outcome
from benchmarks.timing import best
from ostraka.common.mechanism import GnMax
from ostraka.guardian.accountant import Accountant
from ostraka.guardian.accounting import gnmax_rdp
from ostraka.guardian.accounting.numerics.arguments import Bound, Floats

CLASSES = 10  # MNIST's
SIGMA = 40.0  # of MNIST's plan (Papernot et al. 2018)
DELTA = 1e-5  # of all benchmarks if the paper states none
ANSWERS = (100, 1000)
NEAR_TIES: Mapping[Bound, float] = {"theorem6": 0.3, "exact": 1.0}
"""Concentration of the histograms: with a larger one, more of them are near ties."""
Loop = Callable[[Floats, float, Floats], Floats]
"""Takes one histogram (k,), sigma and orders (R,), and returns its rdp (R,)."""


def worst_case(job: Job) -> Outcome:
    """Compare worst-case costs of answers with dp_accounting's for the same noise."""
    from dp_accounting.pld import PLDAccountant
    from dp_accounting.rdp import RdpAccountant

    figures = []
    for answers in ANSWERS[:1] if job.quick else ANSWERS:
        own = Accountant(CLASSES, delta=DELTA)
        counts = Accountant(CLASSES, delta=DELTA)
        event = own.event(GnMax(sigma=SIGMA))
        renyi = RdpAccountant(list(counts.orders)).compose(event, answers).get_epsilon(DELTA)
        losses = PLDAccountant().compose(event, answers).get_epsilon(DELTA)
        figures += [
            Figure(
                f"{answers:,} labels: epsilon, Ostraka's labels beside dp_accounting's PLD of counts",
                (own.step(GnMax(sigma=SIGMA), answers),),
                losses,
                "lower",
            ),
            Figure(
                f"{answers:,} histograms: epsilon, beside dp_accounting's Renyi",
                (counts.compose(event, answers),),
                renyi,
                "lower",
                close=1e-6,
            ),
            Figure(
                f"{answers:,} histograms: epsilon, beside dp_accounting's PLD",
                (counts.epsilon(),),
                losses,
                "lower",
            ),
        ]
    return Outcome(tuple(figures))


def formulas(job: Job) -> Outcome:
    """Compare bounds with loops over the published formulas: equal numbers, and the speed-up."""
    few, many = (20, 2000) if job.quick else (accounting.LOOPED, accounting.HISTOGRAMS)
    return Outcome(
        (
            *_formula("theorem6", accounting.loop, accounting.AT, few, many),
            *_formula(
                "exact", accounting.exact_loop, accounting.AT[:20], few=2 if job.quick else 5, many=few
            ),
        )
    )


def _formula(bound: Bound, loop: Loop, orders: Floats, few: int, many: int) -> Sequence[Figure]:
    votes = accounting.histograms(many, NEAR_TIES[bound])
    looped = np.array([loop(row, SIGMA, orders) for row in votes[:few]])
    ours = gnmax_rdp(votes[:few], SIGMA, orders, bound=bound)
    seconds = best(lambda: gnmax_rdp(votes, SIGMA, orders, bound=bound), process_time)
    theirs = best(lambda: [loop(row, SIGMA, orders) for row in votes[:few]], process_time)
    return (
        Figure(
            f"{bound}: divergence of {few} histograms at order {orders[10]:g}",
            (float(ours[:, 10].sum()),),
            float(looped[:, 10].sum()),
            close=1e-6,
        ),
        Figure(f"{bound}: histograms a processor second", (many / seconds,), few / theirs, "higher"),
    )
