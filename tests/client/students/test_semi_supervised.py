import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, make_moons

from ostraka.client.students.fixmatch import FixMatch
from ostraka.client.students.minimizer import Minimizer
from ostraka.client.students.mixmatch import MixMatch
from ostraka.client.students.registry import make_student
from ostraka.client.students.vat import Vat
from ostraka.common.datasets.label_columns import UNKNOWN
from ostraka.common.learning.data import Labelled
from ostraka.common.learning.learning import Learning

SEMI_SUPERVISED = ("vat", "mixmatch")


def learning(steps: int) -> Learning:
    return Learning(steps=steps, device="cpu")


@pytest.mark.heavy
def test_vat_finds_where_classes_end_by_records_without_labels() -> None:
    X, y = make_moons(600, noise=0.08, random_state=0)
    X, y = X.astype(np.float32), y.astype(np.int64)
    ends = [int(np.where(y == 0, X[:, 0], np.inf).argmin()), int(np.where(y == 1, X[:, 0], -np.inf).argmax())]
    labelled = Labelled(X[ends * 8], y[ends * 8])
    vat, alone = (
        make_student(name, classes=2, learning=learning(300)).learn_from(labelled, X).score(X, y)
        for name in ("vat", "supervised")
    )
    assert vat > alone + 0.03


@pytest.mark.heavy
@pytest.mark.parametrize("name", SEMI_SUPERVISED)
def test_images_are_learned_from_a_few_labels(name: str) -> None:
    X, y = load_digits(return_X_y=True)
    X, y = (X / 16).astype(np.float32), y.astype(np.int64)
    order = np.random.default_rng(0).permutation(len(y))
    labelled, pool, test = np.split(order, [60, 1200])
    student = make_student(name, shape=(8, 8), classes=10, learning=learning(60))
    student.learn_from(Labelled(X[labelled], y[labelled]), X[pool])
    assert student.score(X[test], y[test]) > 0.75


@pytest.mark.heavy
@pytest.mark.parametrize("name", SEMI_SUPERVISED)
def test_labels_are_learned_where_many_have_no_answer(name: str) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 6)).astype(np.float32)
    y = (X[:, :3] > 0).astype(np.int64)
    known = np.where(random.random(y.shape) < 0.4, UNKNOWN, y)
    student = make_student(name, learning=learning(200)).learn_from(Labelled(X[:120], known[:120]), X[:500])
    likely = student.predict_proba(X[500:])
    assert likely.shape == (100, 3)
    assert float(((likely >= 0.5) == y[500:]).mean()) > 0.75


@pytest.mark.parametrize(
    "student",
    [Vat(radius=0.1, weight=2.0, certainty=0.5), MixMatch(guesses=3, temperature=0.7, weight=5.0)],
)
def test_parameters_survive_cloning_and_reach_the_objective(student: Minimizer) -> None:
    copied = clone(student)
    assert copied.get_params() == student.get_params()
    views = object()
    chosen = copied.objective(views, multi_label=True)
    for name, value in student.get_params().items():
        if hasattr(chosen, name):
            assert getattr(chosen, name) == value
    assert chosen == student.objective(views, multi_label=True)  # type: ignore[arg-type]


def test_vat_takes_fewer_steps_without_a_gpu_unless_told() -> None:
    assert (Vat.defaults("cpu").steps, FixMatch.defaults("cpu").steps) == (1000, 3000)
    assert Vat(learning=Learning(steps=7)).learning == Learning(steps=7)
