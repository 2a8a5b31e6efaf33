from pathlib import Path

import numpy as np
import pytest

from benchmarks.reproduce.cell import Job, Word
from benchmarks.reproduce.measures.world_costs import formulas, worst_case
from benchmarks.reproduce.measures.world_noise import noise, p_value
from benchmarks.reproduce.measures.world_training import training_noise
from ostraka.guardian.accounting.numerics.arguments import Floats


def gauss(scale: float, x: Floats) -> Floats:
    return np.exp(-(x**2) / (2 * scale**2))


def test_a_sampler_of_another_law_is_found_out() -> None:
    drawn = np.rint(np.random.default_rng(3).normal(0, 3, 4000)).astype(np.int64)
    assert p_value(drawn, lambda x: gauss(3.0, x)) > 1e-4
    assert p_value(drawn, lambda x: gauss(3.4, x)) < 1e-4
    assert p_value(drawn + 1, lambda x: gauss(3.0, x)) < 1e-4


def test_noise_has_the_published_law(tmp_path: Path) -> None:
    assert all(claim.holds for claim in noise(Job(True, (0,), tmp_path)).claims)


def test_counts_cost_what_dp_accounting_says_by_renyi_and_labels_less_than_by_loss(tmp_path: Path) -> None:
    labels, renyi, losses = worst_case(Job(True, (0,), tmp_path)).figures
    assert (labels.word, renyi.word) == (Word.BETTER, Word.MET)
    assert losses.paper is not None
    assert losses.paper < losses.mean < 1.15 * losses.paper


@pytest.mark.heavy
def test_formulas_agree_with_loops_over_them(tmp_path: Path) -> None:
    figures = formulas(Job(True, (0,), tmp_path)).figures
    assert [one.word for one in figures if "divergence" in one.name] == [Word.MET, Word.MET]


@pytest.mark.heavy
def test_dp_sgd_takes_no_more_noise_than_by_opacus(tmp_path: Path) -> None:
    by_renyi, by_prv = training_noise(Job(True, (0,), tmp_path)).figures
    assert by_renyi.word == Word.BETTER
    assert by_prv.paper is not None
    assert by_prv.mean <= 1.01 * by_prv.paper
