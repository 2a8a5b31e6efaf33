"""The empirical audit: `python -m tests.privacy.audit --samples N`, or `make audit`.

Releases neighbouring inputs over and over the way they run, shares, tally and noise, and holds what came
against the exact probabilities and against the worst case that is charged. Noise with planted faults goes
the same way and must be found. Fails with a chance below 1e-9 where everything is right.
"""

import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle
from typing import Annotated

import numpy as np
import typer

from ostraka.common.mechanism import RandRes, RandResLabels
from ostraka.common.privacy import ORDERS, epsilon
from ostraka.common.sharing.modulus import Modulus
from ostraka.common.sharing.ring import Ring
from ostraka.guardian.noise import NoiseSource, OpenDpNoise
from tests.privacy.cases import (
    ABSTAINING,
    CASES,
    ONE_ANSWER,
    PERSONALIZED,
    RANDOMIZED,
    TELLING_CHECKS,
    Case,
)
from tests.privacy.evidence import P, chance, deviation, least_epsilon
from tests.privacy.faults import Narrow, Shared
from tests.privacy.probabilities import exact_epsilon, outcomes
from tests.privacy.sampling import MODULI, sample

DELTA = 1e-5
FAULTS: dict[str, type[OpenDpNoise]] = {"noise x 0.8": Narrow, "one draw": Shared}
FAULT_SAMPLES = 20_000
TELLING = 2.5
NOTHING = "nothing"


@dataclass(frozen=True)
class Finding:
    """What the samples of a case say.

    Attributes:
        case: what was sampled.
        samples: releases of each of the two inputs.
        deviation: the largest difference between a frequency and its exact probability.
        chance: how likely so large a deviation is where the code is right.
        least: the least epsilon at 1e-5 that the samples leave possible.
        exact: the epsilon at 1e-5 of the exact probabilities.
        promised: the epsilon at 1e-5 of the worst case that is charged.
    """

    case: Case
    samples: int
    deviation: float
    chance: float
    least: float
    exact: float
    promised: float

    @property
    def probable(self) -> bool:
        """Whether the outcomes come as often as calculated."""
        return self.chance > P

    @property
    def kept(self) -> bool:
        """Whether the samples leave room for the promise."""
        return self.least <= self.promised

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return self.probable and self.kept


def audit(
    case: Case, samples: int, noise: NoiseSource, ring: Modulus, *, drawn: Case | None = None
) -> Finding:
    """Sample both inputs of a case, or of what is `drawn` in its stead."""
    first, second = case.inputs
    expected = outcomes(case, first), outcomes(case, second)
    sampled = tuple(sample(drawn or case, votes, samples, noise, ring) for votes in (first, second))
    both = list(zip(sampled, expected, strict=True))
    return Finding(
        case,
        samples,
        max(deviation(counts, p) for counts, p in both),
        min(1.0, 2 * min(chance(counts, p) for counts, p in both)),
        least_epsilon((sampled[0], sampled[1]), expected, DELTA),
        exact_epsilon(*expected, DELTA),
        promised(case),
    )


def charged(case: Case, order: float, *, check: bool = True) -> float:
    """Return what one query is charged with all its answers given, or for clusters one batch."""
    answered = np.ones((case.rows, case.mechanism.answers(case.classes)), dtype=np.bool_)
    cost = case.mechanism.worst_case(order, case.influence.sensitivity, classes=case.classes)
    return (cost if check else replace(cost, check=0.0)).rdp(answered)


def promised(case: Case, *, check: bool = True) -> float:
    """Return the epsilon of what is charged; without its check as a planted fault."""
    return epsilon([charged(case, order, check=check) for order in ORDERS], ORDERS, DELTA)


def uncharged(found: Finding) -> Finding:
    """Return the finding where the check is a planted fault: nobody charges it.

    Tang et al. 2022, section 4.2.2.
    """
    return replace(found, promised=promised(found.case, check=False))


def telling(samples: int, case: Case) -> Finding:
    """Return the finding where true labels come too often as a planted fault: by a larger epsilon."""
    assert isinstance(case.mechanism, RandRes | RandResLabels)
    mechanism = case.mechanism.model_copy(update={"epsilon": TELLING * case.mechanism.epsilon})
    drawn = replace(case, mechanism=mechanism)
    return audit(case, samples, OpenDpNoise(), Ring(64), drawn=drawn)


def main(samples: Annotated[int, typer.Option(min=1_000)] = 200_000) -> None:
    """Audit every mechanism with so many releases of each input, on all cores, and print a table."""
    print(f"epsilon at delta {DELTA:g}; a right release fails with a chance below {P:g}\n")
    print(
        f"{'mechanism':<26} {'planted':<18} {'samples':>8} {'deviation':>10} {'chance':>8}"
        f" {'epsilon >=':>10} {'exact':>7} {'promised':>8}  verdict"
    )
    right = True
    with ProcessPoolExecutor() as pool:
        for planted, found in _findings(pool, samples):
            expected = found.holds is (planted == NOTHING)
            right &= expected
            print(_row(planted, found, expected), flush=True)
    sys.exit(0 if right else 1)


def _findings(pool: Executor, samples: int) -> Iterator[tuple[str, Finding]]:
    every = CASES + PERSONALIZED + ABSTAINING + RANDOMIZED
    for found in pool.map(partial(_audit, samples, OpenDpNoise), every, cycle(MODULI)):
        yield NOTHING, found
    for name, fault in FAULTS.items():
        for found in pool.map(partial(_audit, FAULT_SAMPLES, fault), CASES, cycle(MODULI)):
            yield name, found
    for found in pool.map(partial(telling, FAULT_SAMPLES), ONE_ANSWER):
        yield "truth too likely", found
    for found in pool.map(partial(_audit, FAULT_SAMPLES, OpenDpNoise), TELLING_CHECKS, cycle(MODULI)):
        yield NOTHING, found
        yield "check not charged", uncharged(found)


def _audit(samples: int, noise: type[OpenDpNoise], case: Case, ring: Modulus) -> Finding:
    return audit(case, samples, noise(), ring)


def _row(planted: str, found: Finding, expected: bool) -> str:
    good, bad = ("holds", "FAILS") if planted == NOTHING else ("found", "MISSED")
    return (
        f"{found.case.name:<26} {planted:<18} {found.samples:>8} {found.deviation:>10.5f}"
        f" {found.chance:>8.1e} {found.least:>10.4f} {found.exact:>7.4f} {found.promised:>8.4f}"
        f"  {good if expected else bad}"
    )


if __name__ == "__main__":
    typer.run(main)
