"""Dependencies learned on labels: what is counted, which rules are chosen, what is refused."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom

from ostraka.client.dependencies.learn import Absences, choose_rules, learn
from ostraka.common.datasets import from_arrays
from ostraka.common.datasets.label_columns import UNKNOWN
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task import Task, infer_task

NAMES = ("opacity", "consolidation", "edema", "fracture")
RECORDS = 400


def labels(seed: int = 0) -> NDArray[np.int64]:
    """Consolidation and edema are kinds of opacity; fractures have nothing to do with it and are rare."""
    random = np.random.default_rng(seed)
    opacity = random.random(RECORDS) < 0.5
    kinds = (random.random((RECORDS, 2)) < 0.5) & opacity[:, None]
    fracture = random.random(RECORDS) < 0.03
    return np.column_stack([opacity, kinds, fracture]).astype(np.int64)


def task(names: tuple[str, ...] = NAMES, y: NDArray[np.int64] | None = None) -> Task:
    wanted = labels() if y is None else y
    return infer_task(from_arrays(np.zeros((len(wanted), 1)), wanted, classes=names), "chests")


def test_kinds_depend_on_what_they_are_kinds_of() -> None:
    found = learn(labels(), task())
    assert found.task == "chests"
    assert found.families == {("opacity", 0): ("consolidation", "edema")}
    for rule in found.dependencies:
        assert rule.confidence == 1.0
        assert rule.support == (labels()[:, 0] == 0).sum()
        assert rule.missed < 0.04


def test_the_matrix_is_shares_of_records_without_the_parent() -> None:
    y = labels()
    found = Absences.of(y)
    for parent in range(4):
        for child in set(range(4)) - {parent}:
            without = y[y[:, parent] == 0]
            assert found.confidence[parent, child] == pytest.approx((without[:, child] == 0).mean())
    assert np.isnan(np.diag(found.confidence)).all()


def test_a_label_that_is_merely_rare_depends_on_nothing() -> None:
    found = Absences.of(labels())
    assert found.confidence[0, 3] > 0.95
    assert "fracture" not in {rule.child for rule in learn(labels(), task()).dependencies}


def test_a_label_that_nobody_has_depends_on_nothing() -> None:
    y = labels()
    y[:, 3] = 0
    found = Absences.of(y)
    assert (found.missed[:, 3] == 1).all()
    assert not found.gains(0.95, 20)[:, 3].any()


def test_what_may_be_missed_is_a_limit_that_holds() -> None:
    found = Absences.of(labels())
    fractures = labels()[:, 3] == 1
    missed = int((labels()[fractures, 0] == 0).sum())
    limit = float(found.missed[0, 3])
    assert binom.cdf(missed, int(fractures.sum()), limit) == pytest.approx(0.05)


@pytest.mark.parametrize(("confidence", "support"), [(0.95, 390), (1.0, 250)])
def test_rules_below_the_limits_are_left_out(confidence: float, support: int) -> None:
    with pytest.raises(OstrakaError, match="lower --confidence or --support") as refused:
        learn(labels(), task(), confidence=confidence, support=support)
    assert refused.value.code is ErrorCode.DATA_TOO_FEW


@pytest.mark.parametrize(("confidence", "support"), [(0.0, 20), (1.1, 20), (float("nan"), 20), (0.9, 0)])
def test_limits_that_make_no_sense_are_refused(confidence: float, support: int) -> None:
    with pytest.raises(OstrakaError, match="confidence") as refused:
        learn(labels(), task(), confidence=confidence, support=support)
    assert refused.value.code is ErrorCode.CONFIG_INVALID


def test_classes_have_no_dependencies() -> None:
    single = infer_task(from_arrays(np.zeros((2, 1)), np.array([0, 1]), classes=("a", "b")), "letters")
    with pytest.raises(OstrakaError, match="one class") as refused:
        learn(labels(), single)
    assert refused.value.code is ErrorCode.TASK_MISMATCH


@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_rules_are_trees_that_gain_at_least_half_of_what_any_trees_do(seed: int, size: int) -> None:
    random = np.random.default_rng(seed)
    gains = np.maximum(random.normal(size=(2, size, size)), 0)
    gains[:, np.arange(size), np.arange(size)] = 0
    chosen = choose_rules(gains)
    found = sum(gains[value, parent, child] for child, (parent, value) in chosen.items())
    assert all(gains[value, parent, child] > 0 for child, (parent, value) in chosen.items())
    assert found >= best_trees(gains.max(axis=0)) / 2


def best_trees(gains: NDArray[np.float64]) -> float:
    """Return the most that parents gain, over all choices of one or none for each label, without circles."""
    size = len(gains)
    best = 0.0
    for parents in itertools.product(range(size), repeat=size):
        ranks = list(parents)
        for _ in range(size):
            ranks = [parents[label] for label in ranks]
        # A label that is its own parent has none; all lines end in such labels.
        if all(parents[label] == label for label in ranks):
            best = max(best, sum(gains[parent, child] for child, parent in enumerate(parents)))
    return best


def test_a_tree_of_several_levels_is_learned() -> None:
    """Every dog is an animal, every poodle a dog: whatever is none is not asked about its kinds."""
    random = np.random.default_rng(1)
    animal = random.random(2000) < 0.5
    dog = animal & (random.random(2000) < 0.5)
    poodle = dog & (random.random(2000) < 0.5)
    y = np.column_stack([animal, dog, poodle]).astype(np.int64)
    found = learn(y, task(("animal", "dog", "poodle"), y))
    assert found.families == {("dog", 0): ("poodle",), ("animal", 0): ("dog",)} or found.families == {
        ("animal", 0): ("dog",),
        ("dog", 0): ("poodle",),
    }
    assert found.ancestors("poodle") == ("dog", "animal")


def test_presence_is_learned_where_it_saves_more() -> None:
    """Most records are of animals, most of these of dogs: to ask about dogs first spares most questions."""
    random = np.random.default_rng(2)
    animal = random.random(2000) < 0.95
    dog = animal & (random.random(2000) < 0.8)
    y = np.column_stack([animal, dog]).astype(np.int64)
    (rule,) = learn(y, task(("animal", "dog"), y)).dependencies
    assert (rule.parent, rule.child, rule.implies, rule.confidence) == ("dog", "animal", "presence", 1.0)
    assert rule.support == dog.sum()


def test_without_gains_there_are_no_rules() -> None:
    assert choose_rules(np.zeros((2, 3, 3))) == {}


def test_pairs_that_nobody_knows_do_not_count() -> None:
    random = np.random.default_rng(6)
    y = random.integers(0, 2, (80, 2))
    hidden = y.copy()
    hidden[:30, 1] = UNKNOWN
    np.testing.assert_allclose(Absences.of(hidden).confidence, Absences.of(y[30:]).confidence)
    np.testing.assert_allclose(Absences.of(hidden).missed[0, 1], Absences.of(y[30:]).missed[0, 1])
