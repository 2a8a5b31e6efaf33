from pathlib import Path

import numpy as np
import pytest

from benchmarks.personalized.budgets import ORDERS
from benchmarks.personalized.data import DELTA
from benchmarks.published import DATA
from benchmarks.reproduce.cell import Job, Word
from benchmarks.reproduce.measures import label_counts, label_sets
from benchmarks.reproduce.measures.costs import classic, tight
from benchmarks.reproduce.measures.elections import (
    AT,
    Votes,
    by_label,
    counts,
    queries_for_budget,
    set_counts,
    sets,
)
from benchmarks.reproduce.measures.groups import votes_of_histograms
from benchmarks.reproduce.measures.histories import histories, history_of
from benchmarks.reproduce.measures.personalized import parameters
from benchmarks.reproduce.measures.randomized import private_labels
from benchmarks.reproduce.registry import cells
from ostraka.common.mechanism import Binary, Tau

CHEAP = ("figure-2", "figure-3", "figure-4", "figure-6")
ADULT = DATA / "adult.npz"
VOTES = DATA / "votes" / "svhn_250_teachers_counts.npy"


def job(tmp_path: Path) -> Job:
    return Job(True, (0,), tmp_path)


def test_randomized_labels_are_as_often_true_as_published(tmp_path: Path) -> None:
    outcome = private_labels(Job(False, (0, 1, 2), tmp_path))
    assert [figure.paper for figure in outcome.figures[:4]] == [15.5, 23.2, 45.2, 85.9]
    assert all(abs(figure.mean - (figure.paper or 0)) < 1 for figure in outcome.figures)


def test_parameters_are_the_published_ones(tmp_path: Path) -> None:
    assert parameters(job(tmp_path)).word == Word.MET


def test_where_all_teachers_agree_binary_answers_more(tmp_path: Path) -> None:
    assert label_sets.equal_gaps(job(tmp_path)).word == Word.MET


def votes(seed: int) -> Votes:
    return np.random.default_rng(seed).integers(0, 2, (50, 4, 3)).astype(np.bool_)


def test_random_labels_cost_powerset_no_more_than_its_bound() -> None:
    powerset, binary = sets(votes(0), 7.0, "theorem6"), by_label(votes(0), Binary(sigma=7.0), "theorem6")
    assert queries_for_budget(powerset, 20.0) == queries_for_budget(AT[None] / 49, 20.0)
    assert queries_for_budget(binary, 20.0) < queries_for_budget(powerset, 20.0)


def test_sets_are_counted_whole_and_with_a_limit() -> None:
    yes = np.array([[[1, 1, 0]], [[1, 0, 1]], [[1, 1, 0]], [[0, 0, 0]]], dtype=np.bool_)
    assert sorted(set_counts(yes)[0].tolist()) == [1.0, 1.0, 2.0]
    assert sorted(set_counts(yes, 1)[0].tolist()) == [1.0, 3.0]


def test_ballots_are_clipped_as_the_mechanism_clips_them() -> None:
    yes = np.ones((10, 1, 4), dtype=np.bool_)
    assert counts(yes, Binary(sigma=1.0)).tolist() == [[10.0] * 4]
    assert counts(yes, Tau(sigma=1.0, tau=1.0))[0] == pytest.approx([5.0] * 4, rel=1e-4)


def test_the_papers_conversion_is_the_looser_one() -> None:
    rdp, orders = np.array([0.2, 0.5]), np.array([5.0, 10.0])
    assert classic(rdp, orders, 1e-5) == pytest.approx(0.5 + np.log(1e5) / 9)
    assert tight(rdp, orders, 1e-5) < classic(rdp, orders, 1e-5)


@pytest.mark.skipif(not VOTES.exists(), reason="../shared/data lies not beside the checkout")
def test_votes_dealt_out_have_the_published_histograms() -> None:
    votes = votes_of_histograms(1)
    counts = np.load(DATA / "votes" / "mnist_250_teachers_counts.npy")
    assert votes.shape == (250, 9000)
    assert np.array_equal(np.stack([(votes == label).sum(axis=0) for label in range(10)], axis=1), counts)


def test_costs_are_read_after_so_many_labels_not_queries() -> None:
    answered = np.arange(600) % 2 == 1
    history = history_of(np.full((600, len(ORDERS)), 1e-3), answered, most=2000)
    assert list(history) == [100, 250]
    assert history[250] == pytest.approx(classic(np.full(len(ORDERS), 0.5), ORDERS, DELTA))


def test_more_labels_take_the_gap_of_sets_and_not_of_labels(tmp_path: Path) -> None:
    outcome = label_counts.gaps_and_metrics(job(tmp_path))
    assert all(claim.holds for claim in outcome.claims)
    gaps = [one.mean for one in outcome.figures if one.name.startswith("1 labels: mean gap")]
    assert gaps[0] == gaps[1]


def test_records_of_digits_have_as_many_labels_as_digits_have_properties(tmp_path: Path) -> None:
    mean, least, most = label_counts.of_records(job(tmp_path)).figures
    assert (least.mean, most.mean) == (0.0, 2.0)
    assert least.mean < mean.mean < most.mean


@pytest.mark.heavy
@pytest.mark.skipif(not ADULT.exists(), reason="../shared/data lies not beside the checkout")
def test_groups_pay_further_apart_the_more_budgets_differ(tmp_path: Path) -> None:
    outcome = histories(job(tmp_path), "adult")
    assert [claim.holds for claim in outcome.claims] == [True, True]


@pytest.mark.heavy
@pytest.mark.skipif(not VOTES.exists(), reason="../shared/data lies not beside the checkout")
@pytest.mark.parametrize("name", CHEAP)
def test_published_votes_show_what_the_paper_says(name: str, tmp_path: Path) -> None:
    (cell,) = (one for one in cells() if one.id == f"papernot-2018-{name}")
    assert cell.run is not None
    outcome = cell.run(Job(False, (0,), tmp_path))
    assert outcome.figures
    assert all(claim.holds for claim in outcome.claims)
