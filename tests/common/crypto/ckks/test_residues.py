"""Products modulo a prime against Python's integers; uniform residues from a seed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

from ostraka.common.crypto.ckks.residues import UniformResidues, product

PRIMES = (1099510054913, 1073692673, 97)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(PRIMES), st.sampled_from((8, 41, 51)), st.integers(1, 40))
def test_product_is_exact(seed: int, modulus: int, bits: int, terms: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.integers(-(2**bits) + 1, 2**bits, (3, terms))
    residues = rng.integers(0, modulus, (terms, 5)).astype(np.uint64)
    expected = weights.astype(object) @ residues.astype(object) % modulus
    assert (product(weights, bits, residues, modulus) == expected).all()


@pytest.mark.parametrize("modulus", PRIMES)
@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("terms", [1, 785, 4095])
def test_product_of_the_largest_values(modulus: int, sign: int, terms: int) -> None:
    weights = np.full((2, terms), sign * (2**51 - 1))
    residues = np.full((terms, 3), modulus - 1, np.uint64)
    assert (product(weights, 51, residues, modulus) == terms * sign * (2**51 - 1) * -1 % modulus).all()


def test_columns_beyond_a_chunk() -> None:
    residues = np.arange(2 * 5000, dtype=np.uint64).reshape(2, 5000)
    assert (
        product(np.array([[3, -1]]), 3, residues, PRIMES[0])
        == (3 * np.arange(5000) - np.arange(5000, 10000)) % PRIMES[0]
    ).all()


@pytest.mark.parametrize("modulus", [PRIMES[0], (2**20 // 3) * 2 + 1])
def test_uniform_residues(modulus: int) -> None:
    drawn = UniformResidues(bytes(32), "test", modulus, 8192).polynomial()
    assert drawn.shape == (8192,)
    assert (drawn < modulus).all()
    assert kstest(drawn.astype(float) / modulus, "uniform").pvalue > 1e-9


def test_a_seed_stands_for_the_same_polynomials_one_after_the_other() -> None:
    first, second = (UniformResidues(bytes(32), "test", PRIMES[1], 16) for _ in range(2))
    polynomials = [first.polynomial() for _ in range(3)]
    assert (np.stack(polynomials) == np.stack([second.polynomial() for _ in range(3)])).all()
    assert len(np.unique(polynomials)) == 48
    assert (UniformResidues(bytes(32), "other", PRIMES[1], 16).polynomial() != polynomials[0]).all()
