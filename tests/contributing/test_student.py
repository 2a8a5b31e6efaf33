"""A student by its row: commands, settings and pages list it, and it is trained."""

import pytest

from tests.contributing.conftest import Copy
from tests.contributing.tree import Tree

CODE = '''"""A student that learns from labelled records alone, as slowly as they are few."""

from ostraka.client.students.minimizer import Minimizer
from ostraka.common.learning import objective
from ostraka.common.learning.augmentation import Augmentation
from ostraka.common.learning.learning import Learning
from ostraka.common.learning.objective import Objective


class Patient(Minimizer):
    """A network of labelled records."""

    default_learning = Learning(steps=20, unlabeled_ratio=1)

    def objective(self, views: Augmentation, *, multi_label: bool) -> Objective:
        """Cross-entropy of weak views."""
        return objective.SupervisedObjective(views, multi_label)
'''
TRAINED = """
import sys
from pathlib import Path

import numpy as np
from ostraka.students import STUDENTS, load_student, make_student, save_student

student = make_student("patient", seed=1)
X = np.random.default_rng(1).normal(size=(60, 4)).astype(np.float32)
y = (X[:, 0] > 0).astype(np.int64)
fitted = student.fit(X, y)
file = Path(sys.argv[1])
save_student(fitted, file)
again = load_student(file)
assert type(again) is STUDENTS["patient"]
assert (again.predict(X) == fitted.predict(X)).all()
print((again.predict(X) == y).mean())
"""


@pytest.fixture(scope="module")
def added(copy: Copy) -> Tree:
    tree = copy("a student")
    tree.write("ostraka/client/students/patient.py", CODE)
    tree.insert(
        "ostraka/client/students/registry.py",
        '    "dp-sgd": "dp_sgd.student:DpSgd",\n',
        '    "patient": "patient:Patient",\n',
    )
    tree.insert("docs/students.md", "| `vat` |", "| `patient` | labelled records alone |\n")
    return tree


@pytest.mark.heavy
def test_every_list_of_students_has_it(added: Tree) -> None:
    names = "supervised, vat, mixmatch, fixmatch, patient, dp-sgd"
    for command in (("query", "retrain"), ("query", "learn")):
        assert f"{names}; for randomized labels" in " ".join(added.command(*command, "--help").split())
    said = added.refusal("simulate", "--student", "impatient")
    assert "'fixmatch', 'patient' or 'dp-sgd', is 'impatient'" in said
    page = "from ostraka.deploy.reference.settings_pages import pages; print(pages()['simulation-file.md'])"
    assert '`"fixmatch"`, `"patient"`, `"dp-sgd"`' in added.python("-c", page)


@pytest.mark.heavy
def test_it_learns_and_is_stored(added: Tree) -> None:
    accuracy = added.python("-c", TRAINED, str(added.root / "student.safetensors"))
    assert float(accuracy) > 0.5


@pytest.mark.heavy
def test_a_simulation_trains_it(added: Tree) -> None:
    few = ("--parties", "2", "--teachers", "1", "--queries", "10", "--steps", "5")
    added.command("simulate", *few, "--model", "logistic_regression", "--student", "patient")
    (page,) = (added.root / "runs").rglob("report.html")
    assert "Student: patient" in page.read_text()
