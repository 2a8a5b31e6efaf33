"""Weighted shares of several parties with noise are lifted to the integers' sum."""

from __future__ import annotations

import secrets

import numpy as np
import pytest

from ostraka.common.sharing.prime_field import PrimeField
from ostraka.common.sharing.statement import Statement
from ostraka.common.verified import querier, verifier
from ostraka.common.verified.layout import layout_of
from ostraka.common.verified.prover import Prover
from ostraka.common.verified.verifier import Submission


@pytest.mark.parametrize("bits", [31, 61])
def test_weighted_sums_with_noise_are_those_of_integers(bits: int) -> None:
    field, rng = PrimeField(bits), np.random.default_rng()
    layouts = [layout_of(Statement(20, 10, 50, 50), field), layout_of(Statement(20, 10, 3, None), field)]
    expected = np.rint(rng.normal(0, 40 * 2**16, (20, 10))).astype(np.int64)
    guardian, querying = field.wrap(expected), np.zeros((20, 10), np.uint64)
    for weight in (65_536, 40_000, 90_000):
        counts = [rng.multinomial(50, [0.1] * 10, 20).astype(np.int64), rng.integers(0, 4, (20, 10))]
        seed, blind_seed = secrets.token_bytes(32), secrets.token_bytes(32)
        prover = Prover(layouts, counts, b"batch", seed, blind_seed)
        submission = Submission.read(layouts, prover.guardian_share, prover.commitment, blind_seed)
        for share in verifier.count_shares(layouts, submission):
            guardian = field.add(guardian, field.scale(share, weight))
        for share in querier.count_shares(layouts, b"batch", seed):
            querying = field.add(querying, field.scale(share, weight))
        expected += weight * (counts[0] + counts[1])
    assert np.array_equal(field.lift(field.add(guardian, querying)), expected)
