"""Students on an NVIDIA card, beside the CPU: `make gpu`."""

from dataclasses import replace

import numpy as np
import pytest

from ostraka.client.students.registry import STUDENTS
from ostraka.common.learning.device import Device
from tests.client.students.test_on_cards import X, Y

pytestmark = pytest.mark.gpu
NAMES = ("supervised", "vat", "mixmatch", "fixmatch")


@pytest.mark.parametrize("name", NAMES)
def test_a_student_learns_there(name: str) -> None:
    Device("cuda").require()
    student = STUDENTS[name]()
    student.learning = replace(student.defaults("cuda"), steps=200)
    student.fit(X, Y, unlabeled=X)
    assert np.mean(student.predict(X) == Y) > 0.9
