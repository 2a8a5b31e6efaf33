"""Experiments about what the orders of three tables hang on."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.capc_multilabel.noise import RepeatableNoise
from benchmarks.dpsgd.networks import SIDE
from benchmarks.published import DATA
from benchmarks.reproduce.cell import Job
from benchmarks.reproduce.measures import exclusion
from benchmarks.reproduce.measures.against_dpsgd import MODELS, Task, by_dpsgd
from benchmarks.reproduce.measures.canvases import HALF, QUICK, dealt, last_layer
from benchmarks.reproduce.measures.gains import ALL, NOISELESS, RELEASED, TRUE, label_queries
from ostraka.common.mechanism import Binary

needs_data = pytest.mark.skipif(
    not (DATA / "mnist.npz").exists(), reason="../shared/data lies not beside the checkout"
)


def test_queries_are_labelled_with_noise_without_and_truly() -> None:
    random = np.random.default_rng(0)
    true = random.integers(0, 2, (1000, 3))
    said = np.repeat(true[None], 50, axis=0).astype(np.float32)
    said[:22] = 1 - said[:22]
    found = label_queries(true, said, Binary(sigma=7), RepeatableNoise(random))
    count = len(found[RELEASED])
    assert 0 < count < len(found[ALL]) == len(true)
    assert np.array_equal(found[NOISELESS], true[:count])
    assert np.array_equal(found[TRUE], true[:count])
    assert 0.6 < (found[RELEASED] == true[:count]).mean() < 1


@pytest.mark.heavy
@needs_data
def test_one_parent_of_all_saves_queries_whether_it_implies_anything_or_not(tmp_path: Path) -> None:
    outcome = exclusion.why(Job(False, (0,), tmp_path))
    found = {figure.name: figure.mean for figure in outcome.figures}
    for percent in exclusion.PRESENT:
        share = percent / 100
        bound = exclusion.LABELS / (1 + share * (exclusion.LABELS - 1))
        assert found[f"made labels, parent in {percent}%: {exclusion.BOUND}"] == pytest.approx(bound, rel=0.1)
    assert all(claim.holds for claim in outcome.claims)


@pytest.mark.heavy
@needs_data
def test_a_canvas_has_as_many_digits_as_labels() -> None:
    one = dealt(QUICK, 0).private
    corners = one.X.reshape(-1, SIDE // HALF, HALF, SIDE // HALF, HALF).sum(axis=(2, 4)) > 0
    assert np.array_equal(corners.sum(axis=(1, 2)), one.y.sum(axis=1))
    assert one.y[:, 0].sum() > one.y[:, 9].sum()
    assert last_layer(QUICK, 0).private.X.shape == (QUICK.private, 32)


@pytest.mark.heavy
@needs_data
def test_dp_sgd_at_a_rate_far_too_small_learns_nothing() -> None:
    task = Task(MODELS[0], QUICK, QUICK.private, 3)
    assert by_dpsgd(task, 1e-6, 0).auc < by_dpsgd(task, 0.5, 0).auc
