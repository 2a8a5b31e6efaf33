"""What the benchmark of dependencies counts: labels left out, what is charged, and who votes on what."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.dependencies.asking import BUDGET, ORDER, Counted, noise_for, parents_first
from benchmarks.dependencies.cells import QUICK, cell
from benchmarks.dependencies.domains import WAYS, domains
from benchmarks.dependencies.parents import choose_parents
from benchmarks.dependencies.trees import by_trees
from ostraka.common.mechanism import Binary

POSITIVES = np.random.default_rng(0).integers(0, 21, size=(200, 5))
FAMILIES = {0: (1, 2), 4: (3,)}


def test_children_of_absent_parents_are_absent_and_not_asked() -> None:
    labels = np.random.default_rng(1).integers(0, 2, size=(50, 5))
    kept, asked = parents_first(labels, FAMILIES)
    for parent, children in FAMILIES.items():
        for child in children:
            np.testing.assert_array_equal(asked[:, child], labels[:, parent] == 1)
            np.testing.assert_array_equal(kept[:, child], labels[:, child] * labels[:, parent])
    np.testing.assert_array_equal(kept[:, [0, 4]], labels[:, [0, 4]])


def test_a_label_that_serves_many_is_chosen_over_one_that_serves_few() -> None:
    gains = np.zeros((4, 4))
    gains[1, 0], gains[0, 1:] = 0.5, 0.3
    assert choose_parents(gains) == {1: 0, 2: 0, 3: 0}
    assert choose_parents(np.zeros((3, 3))) == {}


def test_trees_ask_nobody_about_what_is_implied_at_any_level() -> None:
    labels = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 1]])
    kept, asked = by_trees(labels, {1: (0, 0), 2: (1, 0)})
    assert asked.tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    assert kept.tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 1]]
    kept, asked = by_trees(labels, {0: (1, 1)})
    assert asked.tolist() == [[False, True, True], [True, True, True], [False, True, True]]
    assert kept.tolist() == [[1, 1, 1], [1, 0, 1], [1, 1, 1]]


def test_what_is_not_asked_costs_nothing() -> None:
    counted, asked = Counted(POSITIVES, 20, 5.0), np.zeros(POSITIVES.shape, dtype=np.bool_)
    asked[:, :2] = True
    each = Binary(sigma=5.0).worst_case(ORDER, classes=1).answer
    np.testing.assert_allclose(counted.rdp(asked, "worst_case"), 2 * each)
    assert counted.fitting(asked, "worst_case") == min(200, int(BUDGET / (2 * each)))
    assert (counted.rdp(asked, "exact") <= counted.rdp(np.ones_like(asked), "exact")).all()


def test_more_noise_pays_for_as_many_queries_and_hardly_more() -> None:
    sigma = noise_for(POSITIVES, 20)
    everything = np.ones(POSITIVES.shape, dtype=np.bool_)
    assert Counted(POSITIVES, 20, sigma).rdp(everything, "exact").sum() <= BUDGET
    assert Counted(POSITIVES, 20, 0.97 * sigma).rdp(everything, "exact").sum() > BUDGET


@pytest.mark.heavy
def test_a_cell_is_measured_once_and_dependencies_answer_more(tmp_path: Path) -> None:
    found = cell(QUICK, 0, tmp_path)
    assert cell(QUICK, 0, tmp_path) == found
    rows = {row.way: row for row in found.rows}
    assert rows["dependencies"].answered >= rows["all labels"].answered
    assert rows["dependencies"].worst > rows["all labels"].worst
    assert rows["dependencies"].answered == found.queries <= rows["more noise"].answered
    assert rows["all labels"].epsilon > rows["dependencies"].epsilon

    halves = {one.way: one for one in domains(QUICK, (0,), tmp_path)}
    whole, by_label, as_no, _ = (halves[way] for way in WAYS)
    assert (whole.paid, by_label.paid) == (4, 2)
    assert by_label.queries == pytest.approx(2 * whole.queries, abs=1)
    assert by_label.found.bac > as_no.found.bac
