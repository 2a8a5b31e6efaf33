"""What a unit can change in a released sum of updates, and what that costs, three ways.

Many-digit arithmetic for the charge, random neighbours for how far a sum moves, and samples of the release as
it runs for the epsilon that they leave possible. Faults planted in each must be found.
"""

from dataclasses import replace
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from torch import nn

from ostraka.common.learning.record_gradients import STEPS
from ostraka.common.mechanism import DpTtac, Recipe
from ostraka.common.privacy import ORDERS, epsilon
from ostraka.common.privacy.filters import GAUSSIAN
from ostraka.common.sharing.ring import Ring
from ostraka.guardian.mechanisms.sums import release_sums
from ostraka.guardian.noise import ExactNoise, NoiseSource
from ostraka.services.teachers import joint_training, record_gradients
from ostraka.services.teachers.assignment import Slice
from ostraka.services.teachers.config import TrainingConfig
from ostraka.services.teachers.joint_training import JointTeachers, RoundInput, first_parameters
from ostraka.services.teachers.networks import Scaler
from tests.guardian.accounting.oracle import divergence
from tests.privacy.evidence import P, chance, least_epsilon
from tests.privacy.faults import Narrow
from tests.privacy.test_lattice import pmf

DELTA = 1e-5
FEATURES, CLASSES = 4, 3
RING = Ring(64)
CLIPS = pytest.mark.parametrize("clip", ["record", "party"])


def mechanism(clip: str = "record", sigma: float = 4.0, radius: float = 0.7, model: str = "mlp") -> DpTtac:
    recipe = Recipe(
        model=model,
        parameters=len(first_parameters(model, (FEATURES,), CLASSES, 0)),
        steps=2,
        batch_size=3,
        learning_rate=0.3,
    )
    return DpTtac.model_validate({"recipe": recipe, "clip": clip, "radius": radius, "sigma": sigma})


def charged(of: DpTtac, order: float, votes: int = 1) -> float:
    return of.worst_case(order, float(votes), classes=CLASSES).answer


# The charge, in many digits.


@pytest.mark.parametrize("votes", [1, 2, 7])
@pytest.mark.parametrize("order", [1.25, 2, 8, 64, 1024])
@CLIPS
def test_the_charge_is_that_of_a_gaussian_moved_so_far(clip: str, order: float, votes: int) -> None:
    of = mechanism(clip, sigma=9.5)
    radii = 2 * votes + mp.sqrt(of.recipe.parameters) / 2**16 if clip == "record" else mp.mpf(2)
    exact = mp.mpf(order) * radii**2 / (2 * mp.mpf(9.5) ** 2)
    assert abs(charged(of, order, votes) / exact - 1) < 1e-12


@pytest.mark.parametrize("order", [1.5, 8, 32])
@pytest.mark.parametrize("angle", [0.0, 0.3, 0.7])
def test_noise_on_a_lattice_costs_no_more_in_whatever_direction_a_sum_moves(
    order: float, angle: float
) -> None:
    """Two parameters, a lattice of eight steps a radius, divergence summed over both axes."""
    steps, sigma = 8, 1.6
    moved = [int(2 * steps * part) for part in (np.cos(angle), np.sin(angle))]
    noise = pmf(sigma * steps, 400)
    total = sum(divergence(_shifted(noise, 0), _shifted(noise, shift), order) for shift in moved)
    bound = charged(mechanism("party", sigma=sigma), order)
    assert 0 < total <= bound * (1 + 1e-12)


def _shifted(noise: dict[int, Any], by: int) -> list[Any]:
    return [noise.get(x - by, mp.mpf(0)) for x in range(-384, 400)]


# How far a sum moves.


def a_slice(random: np.random.Generator, records: int, entropy: tuple[int, ...] = (0, 0)) -> Slice:
    scale = 10.0 ** random.integers(-2, 4)
    X = (scale * random.standard_normal((records, FEATURES))).astype(np.float32)
    return Slice(X, random.integers(CLASSES, size=records), entropy)


def with_another_record(part: Slice, row: int, random: np.random.Generator) -> Slice:
    other = a_slice(random, 1)
    X, y = part.X.copy(), part.y.copy()
    X[row], y[row] = other.X[0], other.y[0]
    return replace(part, X=X, y=y)


def update(parts: list[Slice], of: DpTtac, random: np.random.Generator) -> NDArray[np.int64]:
    d = of.recipe.parameters
    theta, c = random.standard_normal((2, d)).astype(np.float32)
    variates = random.standard_normal((len(parts), d)).astype(np.float32)
    config = TrainingConfig(teachers=len(parts))
    teachers = JointTeachers(parts, of.recipe.model, CLASSES, config, of.recipe)
    return teachers.update(of, RoundInput(theta, c, 0), variates)[0]


def squared(steps: NDArray[np.int64]) -> int:
    return sum(int(one) ** 2 for one in steps)


@pytest.mark.heavy
@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32), st.integers(1, 3), st.sampled_from(["logistic", "mlp", "square-mlp"]))
def test_replacing_a_record_moves_a_sum_by_two_radii_for_each_teacher_that_has_it(
    seed: int, copies: int, model: str
) -> None:
    random = np.random.default_rng(seed)
    of = mechanism("record", radius=float(10.0 ** random.uniform(-2, 2)), model=model)
    parts = [a_slice(random, int(random.integers(1, 200)), (0, row)) for row in range(3)]
    others = [
        with_another_record(part, int(random.integers(len(part.y))), np.random.default_rng(seed + 1))
        if row < copies
        else part
        for row, part in enumerate(parts)
    ]
    before, after = (update(held, of, np.random.default_rng(seed)) for held in (parts, others))
    assert squared(before - after) <= (2 * copies * STEPS) ** 2


@pytest.mark.heavy
@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32))
def test_replacing_all_records_moves_what_a_party_says_by_two_radii(seed: int) -> None:
    random = np.random.default_rng(seed)
    of = mechanism("party", radius=float(10.0 ** random.uniform(-4, 1)))
    both = [[a_slice(random, 9), a_slice(random, 5, (0, 1))] for _ in range(2)]
    before, after = (update(held, of, np.random.default_rng(seed)) for held in both)
    assert squared(before - after) <= (2 * STEPS) ** 2


def opposites(scale: float = 1e3) -> tuple[Slice, Slice]:
    """Return records of which one is replaced by its mirror image: its gradient turns round."""
    X = np.full((5, FEATURES), 0.01, np.float32)
    X[0] = scale
    turned = X.copy()
    turned[0] = -scale
    y = np.zeros(5, np.int64)
    return Slice(X, y, (0, 0)), Slice(turned, y, (0, 0))


def from_zero(part: Slice, of: DpTtac) -> NDArray[np.int64]:
    teachers = JointTeachers([part], of.recipe.model, CLASSES, TrainingConfig(teachers=1), of.recipe)
    nothing = np.zeros(of.recipe.parameters, np.float32)
    return teachers.update(of, RoundInput(nothing, nothing, 0), nothing[None])[0]


def test_a_record_can_move_a_sum_by_as_much_as_is_charged() -> None:
    before, after = (from_zero(part, mechanism(model="logistic")) for part in opposites())
    assert (1.999 * STEPS) ** 2 < squared(before - after) <= (2 * STEPS) ** 2


def test_a_scaler_of_the_slice_itself_would_move_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: one record then changes what every other adds."""
    of = mechanism(model="logistic", radius=0.01)
    before, after = (scaled_by_itself(part, of, monkeypatch) for part in opposites())
    assert squared(before - after) > (2.5 * STEPS) ** 2


def scaled_by_itself(part: Slice, of: DpTtac, monkeypatch: pytest.MonkeyPatch) -> NDArray[np.int64]:
    scaler = Scaler((FEATURES,))
    scaler.fit(torch.from_numpy(part.X))
    net = nn.Sequential(scaler, nn.Linear(FEATURES, CLASSES))
    monkeypatch.setattr(joint_training, "first", lambda *_, **__: net)
    return from_zero(part, of)


# The release as it runs.

EDGES = np.concatenate([[-np.inf], np.linspace(-9, 9, 37), [np.inf]])
"""Of outcomes: where a release lies on the line between both sums, in deviations from the middle."""


def sampled(
    sums: tuple[NDArray[np.int64], NDArray[np.int64]], side: int, of: DpTtac, noise: NoiseSource, samples: int
) -> NDArray[np.int64]:
    """How many releases of one of two sums, shared and added as parties do it, have each outcome."""
    d = of.recipe.parameters
    rows = RING.wrap(np.tile(sums[side], (samples, 1)))
    half = RING.wrap(np.random.default_rng(0).integers(-(2**63), 2**63, (samples, d)))
    released = release_sums(RING.add(half, rows - half), of, noise, RING)
    way = (sums[1] - sums[0]) / np.linalg.norm(sums[1] - sums[0])
    middle = (sums[0] + sums[1]) / 2
    places = (released - middle) @ way / (of.sigma * STEPS)
    return np.histogram(places, EDGES)[0]


def expected(shift: float) -> NDArray[np.float64]:
    """Outcome probabilities of a sum that lies so many deviations from the middle."""
    return np.diff(stats.norm.cdf(EDGES - shift))


def promised(of: DpTtac) -> float:
    return epsilon([charged(of, order) for order in ORDERS], ORDERS, DELTA)


def evidence(of: DpTtac, noise: NoiseSource, samples: int, radii: float = 2.0) -> tuple[float, float]:
    """How likely the samples are where all is right, and the least epsilon that they leave possible."""
    before, after = (from_zero(part, of) for part in opposites())
    away = radii / 2 / of.sigma
    laws = expected(-away), expected(away)
    counts = tuple(sampled((before, after), side, of, noise, samples) for side in (0, 1))
    likely = min(chance(found, law) for found, law in zip(counts, laws, strict=True))
    return likely, least_epsilon((counts[0], counts[1]), laws, DELTA)


@pytest.mark.heavy
def test_samples_of_the_release_are_as_calculated_and_leave_room_for_the_promise() -> None:
    of = mechanism(model="logistic", sigma=1.0)
    likely, least = evidence(of, ExactNoise(), 4_000)
    assert likely > P
    assert 1.0 < least <= epsilon(charged(of, GAUSSIAN), GAUSSIAN, DELTA) < promised(of)


@pytest.mark.heavy
def test_noise_a_fifth_too_small_is_found() -> None:
    likely, _ = evidence(mechanism(model="logistic", sigma=1.0), Narrow(), 4_000)
    assert likely < P


@pytest.mark.heavy
def test_gradients_that_nobody_clips_break_the_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_gradients, "_clip", lambda each, radius: (each * (STEPS / radius)).trunc())
    of = mechanism(model="logistic", sigma=40.0, radius=5.0)
    _, least = evidence(of, ExactNoise(), 4_000, radii=600.0)
    assert least > promised(of)
