"""Students: models of own and of released labels, by scikit-learn's conventions."""

from ostraka.client.students.files import load_student, save_student
from ostraka.client.students.registry import STUDENTS, make_student
from ostraka.client.students.student_result import StudentResult
from ostraka.client.students.trainers import Choice

__all__ = ["STUDENTS", "Choice", "StudentResult", "load_student", "make_student", "save_student"]
