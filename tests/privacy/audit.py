"""The empirical audit: `python -m tests.privacy.audit --samples N`, or `make audit`.

Releases neighbouring inputs many times through the real code (shares, tally and noise), and compares the
outcomes with the exact probabilities and with the worst case that is charged. Then an adversary attacks whole
transcripts. Noise with planted faults goes the same way and must be found. Each of the two parts fails with a
probability below 1e-9 if everything is right.
"""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle
from typing import Annotated

import typer

from ostraka.common.mechanism import RandRes, RandResLabels
from ostraka.common.privacy import ORDERS, epsilon
from ostraka.common.sharing.modulus import Modulus
from ostraka.common.sharing.ring import Ring
from ostraka.guardian.noise import ExactNoise, NoiseSource
from tests.privacy.adversary import ATTACKS, Attack, Attacked, attacked, attacks
from tests.privacy.cases import (
    ABSTAINING,
    CASES,
    ONE_ANSWER,
    PERSONALIZED,
    RANDOMIZED,
    TELLING_CHECKS,
    Case,
    charged,
)
from tests.privacy.evidence import P, chance, deviation, least_epsilon
from tests.privacy.faults import Halved, Narrow, Shared, kept_without_a_certificate
from tests.privacy.probabilities import exact_epsilon, outcomes
from tests.privacy.sampling import MODULI, sample
from tests.privacy.sums import DELTA as SUMS_DELTA
from tests.privacy.sums import SESSIONS, AttackedSums, SumSession, attack_sums

DELTA = 1e-5
FAULTS: dict[str, type[ExactNoise]] = {"noise x 0.8": Narrow, "one draw": Shared}
FAULT_SAMPLES = 20_000
FAULT_TRANSCRIPTS = 4_000
SAMPLES_PER_TRANSCRIPT = 10
"""A transcript has many queries, so fewer transcripts than samples are drawn, by this factor."""
TELLING = 2.5
NOTHING = "nothing"


@dataclass(frozen=True)
class Finding:
    """What the samples of a case show.

    Attributes:
        case: what was sampled.
        samples: number of releases of each of the two inputs.
        deviation: the largest difference between a frequency and its exact probability.
        chance: the probability of such a deviation if the code is right.
        least: the smallest epsilon at 1e-5 that is consistent with the samples.
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
        """Whether the outcomes occur as often as calculated."""
        return self.chance > P

    @property
    def kept(self) -> bool:
        """Whether the samples are consistent with the promise."""
        return self.least <= self.promised

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return self.probable and self.kept


def audit(
    case: Case, samples: int, noise: NoiseSource, ring: Modulus, *, drawn: Case | None = None
) -> Finding:
    """Sample both inputs of a case, or of `drawn` in its place."""
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


def promised(case: Case, *, check: bool = True) -> float:
    """Return the epsilon of what is charged; without its check for a planted fault."""
    return epsilon([charged(case, order, check=check) for order in ORDERS], ORDERS, DELTA)


def uncharged(found: Finding) -> Finding:
    """Return the finding for a planted fault in which the check is not charged.

    Tang et al. 2022, section 4.2.2.
    """
    return replace(found, promised=promised(found.case, check=False))


def telling(samples: int, case: Case) -> Finding:
    """Return the finding for a planted fault in which true labels come too often: by a larger epsilon."""
    assert isinstance(case.mechanism, RandRes | RandResLabels)
    mechanism = case.mechanism.model_copy(update={"epsilon": TELLING * case.mechanism.epsilon})
    drawn = replace(case, mechanism=mechanism)
    return audit(case, samples, ExactNoise(), Ring(64), drawn=drawn)


def halved(transcripts: int, attack: Attack) -> Attacked:
    """Return what is found if noise is half as wide as what is charged."""
    return attacked(attack, transcripts, Halved(), DELTA)


def moved_twice(transcripts: int, attack: Attack) -> Attacked:
    """Return what is found if a vote counts twice, as if a second teacher's vote moved with it."""
    first, second = attack.case.inputs
    other = second.copy()
    other[1] = second[0]
    runs = replace(attack, case=replace(attack.case, inputs=(first, other)))
    return attacked(attack, transcripts, ExactNoise(), DELTA, runs=runs)


def not_smooth(transcripts: int, attack: Attack) -> Attacked:
    """Return what is found if a publication uses changes that are not smooth."""
    return attacked(attack, transcripts, ExactNoise(), DELTA, kept=kept_without_a_certificate)


PLANTED: dict[str, tuple[Callable[[int, Attack], Attacked], tuple[str, ...]]] = {
    "noise / 2": (halved, ("gnmax", "binary", "binary, checked", "noise_cluster")),
    "moved twice": (moved_twice, ("gnmax, sums shifted to a tie", "confident", "powerset")),
    "not smooth": (not_smooth, ("statement",)),
}
"""Planted faults, and attacks that come so close to what is claimed that they must find them."""


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
        print(
            f"\n{'attack':<30} {'planted':<18} {'transcripts':>11} {'queries':>8} {'epsilon >=':>10}"
            f" {'claimed':>8} {'of rdp >=':>9}  verdict"
        )
        for planted, attack in _attacks(pool, samples // SAMPLES_PER_TRANSCRIPT):
            expected = attack.holds is (planted == NOTHING)
            right &= expected
            print(_attack_row(planted, attack, expected), flush=True)
        print(
            f"\n{'session of sums, delta ' + format(SUMS_DELTA, 'g'):<36} {'planted':<10} {'sessions':>8}"
            f" {'chance':>8} {'epsilon >=':>10} {'exact':>7} {'promised':>8}  verdict"
        )
        for planted, told in _sums(pool, samples):
            expected = told.holds is (planted == NOTHING)
            right &= expected
            print(_sums_row(planted, told, expected), flush=True)
    sys.exit(0 if right else 1)


def _findings(pool: Executor, samples: int) -> Iterator[tuple[str, Finding]]:
    every = CASES + PERSONALIZED + ABSTAINING + RANDOMIZED
    for found in pool.map(partial(_audit, samples, ExactNoise), every, cycle(MODULI)):
        yield NOTHING, found
    for name, fault in FAULTS.items():
        for found in pool.map(partial(_audit, FAULT_SAMPLES, fault), CASES, cycle(MODULI)):
            yield name, found
    for found in pool.map(partial(telling, FAULT_SAMPLES), ONE_ANSWER):
        yield "truth too likely", found
    for found in pool.map(partial(_audit, FAULT_SAMPLES, ExactNoise), TELLING_CHECKS, cycle(MODULI)):
        yield NOTHING, found
        yield "check not charged", uncharged(found)


def _attacks(pool: Executor, transcripts: int) -> Iterator[tuple[str, Attacked]]:
    for found in pool.map(partial(_attack, transcripts), ATTACKS):
        yield NOTHING, found
    for name, (planted, told) in PLANTED.items():
        for found in pool.map(partial(planted, FAULT_TRANSCRIPTS), attacks(*told)):
            yield name, found


def _sums(pool: Executor, sessions: int) -> Iterator[tuple[str, AttackedSums]]:
    for name, noise in ((NOTHING, ExactNoise), ("noise / 2", Halved), ("noise x 0.8", Narrow)):
        for found in pool.map(partial(_attack_sums, sessions, noise), SESSIONS):
            yield name, found


def _attack_sums(sessions: int, noise: type[ExactNoise], session: SumSession) -> AttackedSums:
    return attack_sums(session, sessions, noise(), SUMS_DELTA)


def _attack(transcripts: int, attack: Attack) -> Attacked:
    return attacked(attack, transcripts, ExactNoise(), DELTA)


def _audit(samples: int, noise: type[ExactNoise], case: Case, ring: Modulus) -> Finding:
    return audit(case, samples, noise(), ring)


def _row(planted: str, found: Finding, expected: bool) -> str:
    good, bad = ("holds", "FAILS") if planted == NOTHING else ("found", "MISSED")
    return (
        f"{found.case.name:<26} {planted:<18} {found.samples:>8} {found.deviation:>10.5f}"
        f" {found.chance:>8.1e} {found.least:>10.4f} {found.exact:>7.4f} {found.promised:>8.4f}"
        f"  {good if expected else bad}"
    )


def _attack_row(planted: str, found: Attacked, expected: bool) -> str:
    good, bad = ("holds", "FAILS") if planted == NOTHING else ("found", "MISSED")
    return (
        f"{found.attack.name:<30} {planted:<18} {found.transcripts:>11} {found.attack.queries:>8}"
        f" {found.least:>10.4f} {found.claimed:>8.4f} {found.share:>9.4f}  {good if expected else bad}"
    )


def _sums_row(planted: str, found: AttackedSums, expected: bool) -> str:
    good, bad = ("holds", "FAILS") if planted == NOTHING else ("found", "MISSED")
    return (
        f"{found.attack.name:<36} {planted:<10} {found.transcripts:>8} {found.chance:>8.1e}"
        f" {found.least:>10.4f} {found.exact:>7.4f} {found.claimed:>8.4f}  {good if expected else bad}"
    )


if __name__ == "__main__":
    typer.run(main)
