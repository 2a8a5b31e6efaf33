"""What ALIBI's noise and the responses of LP-MST tell of a label, exactly, and what their students learn."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import Tensor

from benchmarks.label_dp import methods
from benchmarks.label_dp.__main__ import QUICK
from benchmarks.label_dp.baselines import BayesObjective, MixupObjective
from benchmarks.label_dp.data import Dataset, load
from benchmarks.label_dp.methods import Bench
from benchmarks.label_dp.one_hot import log_likelihoods, noisy_one_hot, scale_of
from benchmarks.label_dp.rr_with_prior import randomize_with_prior, width_of
from benchmarks.label_dp.settings import BASELINES, LP_2ST
from ostraka.common.learning.augmentation import Augmentation
from ostraka.common.learning.objective import TrainingStep
from ostraka.common.mechanism import RandRes
from ostraka.guardian.noise import LATTICE
from tests.privacy.evidence import agrees

PRIORS = ((0.25, 0.25, 0.25, 0.25), (0.1, 0.7, 0.15, 0.05), (0.02, 0.02, 0.48, 0.48), (0.0, 0.0, 1.0, 0.0))
EPSILONS = (0.1, 0.5, 1.0, 4.0)
ONE = round(1 / LATTICE)
DRAWS = 20_000


def responses(prior: tuple[float, ...], epsilon: float) -> list[list[Fraction]]:
    """How likely each label comes for each true one, exactly, from the steps that `randomize` draws by."""
    width = int(width_of(np.array([prior]), epsilon)[0])
    likely = sorted(range(len(prior)), key=lambda label: -prior[label])[:width]
    truth = Fraction(RandRes(epsilon=epsilon).truth_steps(width), 2**64) if width > 1 else Fraction(1)
    rows = []
    for label in range(len(prior)):
        row = [Fraction(0)] * len(prior)
        for other in likely:
            wrong = (1 - truth) / (width - 1) if width > 1 else Fraction(0)
            row[other] = Fraction(1, width) if label not in likely else truth if other == label else wrong
        rows.append(row)
    return rows


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("prior", PRIORS)
def test_no_response_with_a_prior_is_likelier_than_epsilon_allows(
    prior: tuple[float, ...], epsilon: float
) -> None:
    rows = responses(prior, epsilon)
    assert [sum(row) for row in rows] == [1] * len(prior)
    with mpmath.workdps(60):
        most = mpmath.exp(epsilon)
        for one, other in permutations(rows, 2):
            assert all(
                mpmath.mpf(a.numerator) / a.denominator <= most * b.numerator / b.denominator
                for a, b in zip(one, other, strict=True)
            )


@pytest.mark.parametrize("prior", PRIORS)
def test_responses_with_a_prior_come_as_often_as_they_should(prior: tuple[float, ...]) -> None:
    rows = responses(prior, 1.0)
    for label, row in enumerate(rows):
        drawn = randomize_with_prior(np.full(DRAWS, label), np.tile(prior, (DRAWS, 1)), 1.0)
        counts = np.bincount(drawn, minlength=len(prior))
        assert agrees(counts, np.array([float(one) for one in row]))


@settings(max_examples=25)
@given(st.lists(st.floats(0.01, 1), min_size=2, max_size=9), st.floats(0.05, 8))
def test_as_many_classes_are_drawn_from_as_make_the_label_right_most_often(
    weights: list[float], epsilon: float
) -> None:
    prior = np.array(weights) / sum(weights)
    truths = [RandRes(epsilon=epsilon).truth(k) if k > 1 else 1.0 for k in range(1, len(prior) + 1)]
    right = [sum(sorted(prior)[-k:]) * truth for k, truth in enumerate(truths, start=1)]
    assert right[width_of(prior[None], epsilon)[0] - 1] == pytest.approx(max(right))


class Given:
    """Noise that somebody wrote down."""

    def __init__(self, steps: NDArray[np.int64]) -> None:
        self.steps, self.scales = steps, list[float]()

    def laplace(self, scale: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        self.scales.append(scale)
        return self.steps.reshape(shape)

    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        raise AssertionError("Laplace noise is what is accounted for")

    def uniform(self, shape: tuple[int, ...]) -> NDArray[np.uint64]:
        raise AssertionError("Laplace noise is what is accounted for")


@given(st.floats(1e-3, 100))
def test_noise_on_one_hot_labels_is_never_too_small(epsilon: float) -> None:
    noise = Given(np.array([5, -7, 0]))
    noisy = noisy_one_hot(np.array([1]), 3, epsilon, noise)
    assert (noisy / LATTICE).tolist() == [[5, ONE - 7, 0]]
    assert 2 / Fraction(noise.scales[0]) <= Fraction(epsilon)
    assert noise.scales[0] == pytest.approx(2 / epsilon)


def vectors() -> Iterator[list[int]]:
    """Noisy vectors of three classes, in steps: around, between and beyond 0 and 1."""
    at = (-3 * ONE, -1, 0, 1, ONE // 2, ONE - 1, ONE, ONE + 1, 4 * ONE)
    yield from ([a, b, c] for a in at for b in at for c in (0, ONE // 3))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_noisy_vectors_tell_two_labels_apart_by_epsilon_at_most_as_the_student_believes(
    epsilon: float,
) -> None:
    """P(vector | label) ~ exp(-sum |vector - one-hot| / scale) on the lattice, whose ratio is exact."""
    scale, largest = Fraction(scale_of(epsilon)), Fraction(0)
    for steps in vectors():
        told = log_likelihoods(np.array([steps]) * LATTICE, epsilon)[0]
        far = [
            sum(abs(Fraction(step, ONE) - (i == label)) for i, step in enumerate(steps)) for label in range(3)
        ]
        for one, other in permutations(range(3), 2):
            exact = (far[other] - far[one]) / scale
            assert exact <= Fraction(epsilon)
            assert told[one] - told[other] == pytest.approx(float(exact), abs=1e-12)
            largest = max(largest, exact)
    assert float(largest) == pytest.approx(epsilon)


class Same:
    """Views that are the records."""

    def weak(self, x: Tensor, random: torch.Generator) -> Tensor:
        return x

    strong = weak


def step() -> TrainingStep:
    return TrainingStep(0, 1, torch.Generator().manual_seed(0))


def test_alibi_climbs_the_likelihood_of_what_is_known_of_the_labels() -> None:
    views: Augmentation = Same()
    random = torch.Generator().manual_seed(1)
    net = torch.nn.Linear(3, 4)
    x, likelihoods = torch.randn(5, 3, generator=random), torch.randn(5, 4, generator=random)
    BayesObjective(views).loss(net, (x, likelihoods), x[:0], step()).backward()  # type: ignore[no-untyped-call]
    assert net.weight.grad is not None
    found = net.weight.grad.clone()
    net.zero_grad()
    known = torch.logsumexp(torch.log_softmax(net(x), dim=1) + likelihoods, dim=1)
    (-known.mean()).backward()  # type: ignore[no-untyped-call]
    assert torch.allclose(net.weight.grad, found, atol=1e-6)


def test_mixup_mixes_labels_as_it_mixes_records() -> None:
    """A network of mixtures of one-hot records knows the mixtures of their labels."""
    net = torch.nn.Linear(4, 4, bias=False)
    told: list[Tensor] = []
    torch.nn.init.eye_(net.weight)
    net.register_forward_hook(lambda module, given, logits: told.append(given[0]))
    x = torch.eye(4)
    loss = MixupObjective(Same()).loss(net, (x, x), x[:0], step())
    (mixed,) = told
    assert torch.allclose(mixed.sum(dim=1), torch.ones(4))
    assert not torch.equal(mixed, x)
    assert torch.allclose(loss, torch.nn.functional.cross_entropy(mixed, mixed))


def test_each_label_is_randomised_in_one_stage_and_no_prior_knows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    split = load(Dataset.DIGITS, QUICK, 0)
    bench = Bench(split, QUICK, 0, tmp_path)
    learned: list[NDArray[np.float32]] = []
    asked: list[NDArray[np.int64]] = []
    learn = bench._learn

    def seen(method, labelled, rest):  # type: ignore[no-untyped-def]
        learned.append(labelled.X)
        return learn(method, labelled, rest)

    def second(y: NDArray[np.int64], prior: NDArray[np.float64], epsilon: float) -> NDArray[np.int64]:
        asked.append(y)
        assert prior.shape == (len(y), 10)
        return np.full(len(y), 7)

    monkeypatch.setattr(bench, "_learn", seen)
    monkeypatch.setattr(methods, "randomize_with_prior", second)
    y = bench._two_stages(1.0)
    (first,) = learned
    known = {row.tobytes() for row in first}
    later = np.array([row.tobytes() not in known for row in split.X])
    assert len(first) == QUICK.train - len(asked[0]) == QUICK.train // 2
    assert later.sum() == len(asked[0])
    assert sorted(split.y[later]) == sorted(asked[0])
    assert (y[later] == 7).all()
    assert not (y[~later] == 7).all()


@pytest.mark.heavy
@pytest.mark.parametrize("method", BASELINES)
def test_labels_with_little_noise_are_learned(method: str, tmp_path: Path) -> None:
    size = replace(QUICK, train=1000, steps=40)
    found = Bench(load(Dataset.DIGITS, size, 0), size, 0, tmp_path).measure(method, 12.0)
    assert found.private is not None
    assert found.private > 0.95
    assert found.accuracy is not None
    assert found.accuracy > 0.9
    assert found.learned == 1000 or method == LP_2ST
