"""How many own records find a party that votes badly, and at which epsilon: `python -m benchmarks.probing`.

Ten teachers per party, ten classes. All teachers are right on a record with the same chance, drawn from a
beta distribution with mean 0.85; half of the wrong ones name the same class. Every group is asked different
records, so the number of answers that agree is binomial; the chances come from `RECORDS` simulated records,
including noise.
"""

from collections.abc import Callable
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.stats import binom

from ostraka.client.probing.findings import LEVEL, p_values, to_blame
from ostraka.client.probing.probe import circle
from ostraka.common.mechanism import GnMax
from ostraka.common.planning.candidate import Candidate
from ostraka.common.privacy import ORDERS, epsilon

CLASSES = 10  # the digits'
TEACHERS = 10  # of each party
ACCURACY = 0.85  # mean of a good party's teachers
WEAK = 0.6  # of a weak party's, so close that it is hard to distinguish
SPREAD = 4.0  # sum of the beta distribution's parameters, so records differ
TARGET = 1  # the class that a party of kind `target` never names
RECORDS = 10_000  # simulated: the deviation of chances is below 0.005
TRIALS = 100  # of a whole probe: the measured share has a deviation of at most 0.05
DELTA = 1e-5  # of all benchmarks if the paper states none
POWER = 0.9  # share of bad parties to find, as is usual in tests
SIZES = (20, 40, 60, 80, 120, 160, 240, 320)
WHOLE_SIZES = (*SIZES, 640, 1280)
FEDERATIONS = ((5, 7.0), (10, 10.0), (50, 40.0))
"""Parties, and their usual noise."""
GROUPS = ((5, 2, 7.0), (10, 2, 10.0), (50, 2, 10.0), (50, 8, 40.0))
"""Parties, size of a group, and noise."""
KINDS = ("fixed", "random", "weak", "target")
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def main() -> None:
    """Print the records needed for each kind of bad party: by all parties, all except one, and groups."""
    table = Table(
        "parties", "sigma", "asked", "bad", "agree", "with it", "records", "found", "wrong", "epsilon"
    )
    table.title = f"Records a session that find {POWER:.0%} of bad parties; the most tried where none do"
    for parties, sigma in FEDERATIONS:
        for kind in KINDS:
            for name, sessions, find in (
                ("all", 1, power_of_rate),
                ("all but one", parties, power_of_mcnemar),
            ):
                power = partial(find, parties, sigma, kind)
                row = _row(parties, sigma, name, kind, 1, parties, sessions, power, WHOLE_SIZES)
                table.add_row(*row)
    for parties, size, sigma in GROUPS:
        table.add_section()
        for kind, bad in ((KINDS[0], 0), *((kind, 1) for kind in KINDS), (KINDS[0], max(2, parties // 5))):
            found = Groups(parties, size, sigma, kind, bad)
            row = _row(parties, sigma, f"groups of {size}", kind, bad, size, size, found.measure, SIZES)
            table.add_row(*row)
    Console(width=110).print(table)


def _row(
    parties: int,
    sigma: float,
    name: str,
    kind: str,
    bad: int,
    size: int,
    sessions: int,
    measure: Callable[[int], tuple[float, float | None]],
    sizes: tuple[int, ...],
) -> list[str]:
    records = first(lambda n: measure(n)[0], sizes)
    power, wrong = measure(records)
    agree, with_it = (f"{chances(size, count, kind, sigma)[0]:.3f}" for count in (0, 1))
    shares = f"{power:.2f}" if bad else "", "" if wrong is None else f"{wrong:.2f}"
    spent = f"{_epsilon(sigma, records * sessions):.1f}"
    which = f"{bad} {kind}" if bad else "none"
    return [str(parties), f"{sigma:g}", name, which, agree, with_it, str(records), *shares, spent]


def first(power: Callable[[int], float], sizes: tuple[int, ...]) -> int:
    """Return the smallest of `sizes` that finds bad parties, the largest if none is enough."""
    most = sizes[-1]
    return most if power(most) < POWER else next(n for n in sizes if power(n) >= POWER)


def power_of_rate(parties: int, sigma: float, kind: str, n: int) -> tuple[float, None]:
    """Return the chance to find one bad party by the agreement of all, if that of good ones were known."""
    good, bad = (chances(parties, count, kind, sigma)[0] for count in (0, 1))
    limit = binom.ppf(LEVEL, n, good)
    limit -= binom.cdf(limit, n, good) > LEVEL
    return float(binom.cdf(limit, n, bad)), None


def power_of_mcnemar(parties: int, sigma: float, kind: str, n: int) -> tuple[float, None]:
    """Return the chance that McNemar's exact test finds the bad party: same records, all and without each."""
    _, lost, won = chances(parties, 1, kind, sigma)
    drawn = np.random.default_rng(3).multinomial(n, [lost, won, 1 - lost - won], size=TRIALS)
    p = binom.sf(drawn[:, 0] - 1, drawn[:, :2].sum(axis=1), 0.5)
    return float((p < LEVEL / parties).mean()), None


class Groups:
    """Neighbours on a circle with `bad` parties anywhere, the same positions for every number of records."""

    def __init__(self, parties: int, size: int, sigma: float, kind: str, bad: int) -> None:
        """Draw the bad parties in each trial."""
        rng = np.random.default_rng(2)
        self._members = circle(parties, size)
        self._bad = np.zeros((TRIALS, parties), np.bool_)
        for trial in self._bad:
            trial[rng.choice(parties, bad, replace=False)] = True
        each = [chances(size, count, kind, sigma)[0] for count in range(min(size, bad) + 1)]
        self._chances = np.array(each)[self._bad @ self._members.T.astype(np.int64)]

    def measure(self, n: int) -> tuple[float, float]:
        """Return the share of bad parties found by n records per group, and of trials with a false
        positive."""
        agreed = np.random.default_rng(3).binomial(n, self._chances)
        p = p_values(agreed, np.full_like(agreed, n), self._members)
        found = to_blame(p, self._members)
        right = found[self._bad]
        wrong = (found & ~self._bad).any(axis=1)
        return float(right.mean()) if right.size else 0.0, float(wrong.mean())


@cache
def chances(size: int, bad: int, kind: str, sigma: float) -> tuple[float, float, float]:
    """Return how often `size` parties agree with the label of a record, if `bad` of them vote badly.

    With one bad party, also how often they disagree but would agree without it, and vice versa.
    """
    rng = np.random.default_rng(1)
    y, good = records(rng)
    others = rng.multinomial(TEACHERS * (size - bad), good)
    right = _agree(others + _ballots(rng, kind, bad, y, good), y, sigma, rng)
    without = _agree(others, y, sigma, rng)
    return float(right.mean()), float((~right & without).mean()), float((right & ~without).mean())


def records(rng: np.random.Generator, accuracy: float = ACCURACY) -> tuple[Ints, Floats]:
    """Return classes of records (R,), and a teacher's probability to vote for each class (R, classes)."""
    rows = np.arange(RECORDS)
    y = rng.integers(CLASSES, size=RECORDS)
    right = rng.beta(SPREAD * accuracy, SPREAD * (1 - accuracy), size=RECORDS)
    votes = np.repeat((1 - right)[:, None] / (2 * (CLASSES - 2)), CLASSES, axis=1)
    votes[rows, (y + rng.integers(1, CLASSES, size=RECORDS)) % CLASSES] = (1 - right) / 2
    votes[rows, y] = right
    return y, votes


def _ballots(rng: np.random.Generator, kind: str, bad: int, y: Ints, good: Floats) -> Ints:
    """Return votes (R, classes) of bad parties: for class 0, at random, of weak teachers, a class flipped."""
    if kind == "weak":
        share = (WEAK / ACCURACY - 1) * good[np.arange(RECORDS), y]
        good = good - share[:, None] / (CLASSES - 1)
        good[np.arange(RECORDS), y] += share * CLASSES / (CLASSES - 1)
    votes = rng.multinomial(TEACHERS * bad, np.full_like(good, 1 / CLASSES) if kind == "random" else good)
    flipped = y == TARGET if kind == "target" else np.full(RECORDS, kind == "fixed")
    votes[flipped] = TEACHERS * bad * np.eye(CLASSES, dtype=np.int64)[0]
    return votes


def _agree(votes: Ints, y: Ints, sigma: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    answers: NDArray[np.bool_] = (votes + rng.normal(0, sigma, votes.shape)).argmax(axis=1) == y
    return answers


def _epsilon(sigma: float, queries: int) -> float:
    candidate = Candidate(GnMax(sigma=sigma), CLASSES)
    return epsilon([candidate.rdp(order, queries) for order in ORDERS[::4]], ORDERS[::4], DELTA)


if __name__ == "__main__":
    main()
