"""The proof of the worst case of an argmax: its steps against arithmetic, and that it fails where it must."""

import math
from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import ndtr

from benchmarks.argmax import proof
from benchmarks.argmax.cells import Room, cells_fit
from benchmarks.argmax.three_outcomes import log_outcomes, steepness
from ostraka.common.privacy import ORDERS
from ostraka.common.privacy.argmax import MIN_GROWTH, argmax_bound
from ostraka.common.privacy.two_outcomes import two_outcomes_rdp

Floats = NDArray[np.float64]


@pytest.mark.heavy
@given(st.sampled_from(ORDERS), st.floats(0, 1))
@settings(deadline=None, max_examples=60)
def test_every_node_of_every_order_is_proved(order: float, part: float) -> None:
    nodes = proof.nodes_of(order)
    index = 1 + int(part * (len(nodes) - 2))
    assert proof.at_node(order, float(nodes[index]))
    assert proof.between(order, float(nodes[index - 1]), float(nodes[index]))


@pytest.mark.parametrize("order", [1.5, 32.0, 1024.0])
def test_nodes_reach_from_the_chord_to_the_gaussian_mechanism(order: float) -> None:
    nodes = proof.nodes_of(order)
    assert order * (order - 1) * nodes[0] ** 2 == pytest.approx(MIN_GROWTH)
    assert argmax_bound(order, float(nodes[-1])) == order * float(nodes[-1]) ** 2
    assert (nodes[1:] <= nodes[:-1] * (1 + proof.STEP) * (1 + 1e-12)).all()


def test_less_than_the_worst_case_is_not_proved() -> None:
    shift = 0.05
    assert proof.at_node(8.0, shift)
    assert not proof.prove(8.0, shift, 1.0045 * two_outcomes_rdp(8.0, math.sqrt(2) * shift))
    assert proof.between(8.0, shift, shift * 1.06)
    assert not proof.between(8.0, shift, shift * 1.2)


def room(order: float, shift: float, above: float) -> Room:
    bound = above * two_outcomes_rdp(order, math.sqrt(2) * shift)
    return Room(order, shift, (order - 1) * bound, -0.6, -0.6, 4.5)


def test_a_bound_below_the_worst_case_is_not_proved() -> None:
    assert cells_fit(room(8.0, 0.05, 1.0099))
    assert not cells_fit(room(8.0, 0.05, 1.0045))
    assert not cells_fit(replace(room(8.0, 0.05, 1.0099), leg=math.inf))


heights = st.floats(-3, 5)


@given(heights, heights, st.floats(0, 2 * math.pi))
@settings(deadline=None, max_examples=60)
def test_derivatives_of_outcomes_stay_within_what_the_proof_says(a: float, b: float, angle: float) -> None:
    h = 0.02
    along: Floats = np.linspace(-2 * h, 2 * h, 5)
    logs = log_outcomes(a + along * math.cos(angle), b + along * math.sin(angle))
    second = (logs[:, 1] - 2 * logs[:, 2] + logs[:, 3]) / h**2
    third = (logs[:, 4] - 2 * logs[:, 3] + 2 * logs[:, 1] - logs[:, 0]) / (2 * h**3)
    assert (second >= -1 - 1e-3).all()
    assert (second <= 1e-3).all()
    assert (np.abs(third) <= 1).all()


@given(heights, heights)
@settings(deadline=None, max_examples=60)
def test_steepness_is_the_length_of_the_gradient(a: float, b: float) -> None:
    h = 1e-4
    logs = log_outcomes(a + h * np.array([0, 1, -1, 0, 0]), b + h * np.array([0, 0, 0, 1, -1]))
    length = np.hypot(logs[:, 1] - logs[:, 2], logs[:, 3] - logs[:, 4]) / (2 * h)
    assert steepness(np.array([a]), np.array([b]), logs[:, :1])[:, 0] == pytest.approx(length, abs=1e-6)


@given(st.floats(1.01, 1024), st.floats(-3, 3).filter(lambda power: abs(power) > 1e-9))
def test_what_cauchy_and_schwarz_need(order: float, power: float) -> None:
    with mp.workdps(120):
        a = mp.mpf(order)
        v = mp.exp(mp.mpf(power) / a)
        chi = v**a - 1 - a * (v - 1)
        left = ((a - 1) * (1 - v**a)) ** 2
        assert left <= 2 * a * (a - 1) * chi * max(1, v**a)


@pytest.mark.heavy
@given(st.sampled_from([1.5, 8.0, 128.0]), st.floats(0.01, 1.5), heights, heights, st.floats(0, math.pi))
@settings(deadline=None, max_examples=150)
def test_the_moment_bends_down_no_more_than_cells_allow(
    order: float, tilt: float, a: float, b: float, angle: float
) -> None:
    rest = order - 1
    shift, h = tilt / rest, 0.01
    along: Floats = np.linspace(-h, h, 3)
    x, y = a + along * math.cos(angle), b + along * math.sin(angle)
    p, q = log_outcomes(x, y), log_outcomes(x + shift, y - shift)
    excess = (np.exp(p) * (np.expm1(rest * (p - q)) + rest * np.expm1(q - p))).sum(axis=0)
    unit = order * rest * shift**2
    longest = steepness(x, y, p)[:, 1] + math.sqrt(2) * shift
    weight = np.exp(np.maximum(q, order * p - rest * q))[:, 1] @ (2 * longest + 1) ** 2
    n = excess / unit
    most = n.max()
    assert (n[0] - 2 * n[1] + n[2]) / h**2 >= -1.02 * (most + 2 * math.sqrt(most * weight)) - 1e-6
    log = np.log1p(excess)
    assert (log[0] - 2 * log[1] + log[2]) / h**2 >= -min(order, 1 + math.sqrt(2) * tilt) - 1e-3


def test_the_three_probabilities_sum_to_one() -> None:
    a, b = (side.ravel() for side in np.meshgrid(np.linspace(-25, 40, 14), np.linspace(-25, 40, 14)))
    assert np.exp(log_outcomes(a, b)).sum(axis=0) == pytest.approx(np.ones(len(a)), abs=1e-12)
    assert float(np.exp(log_outcomes(np.array([0.3]), np.array([-30.0]))[0, 0])) == pytest.approx(ndtr(0.3))
