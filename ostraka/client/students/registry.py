"""Students by name."""

from collections.abc import Mapping
from typing import Any

from ostraka.client.students.dp_sgd.student import DpSgd
from ostraka.client.students.fixmatch import FixMatch
from ostraka.client.students.label_dp.aug_descent import AugDescent
from ostraka.client.students.label_dp.denoise_ssl import DenoiseSsl
from ostraka.client.students.label_dp.learners import LdpNormal, LdpSsl
from ostraka.client.students.mixmatch import MixMatch
from ostraka.client.students.neural import Neural
from ostraka.client.students.supervised import Supervised
from ostraka.client.students.vat import Vat
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.shape import Shape

STUDENTS: Mapping[str, type[Neural]] = {
    "supervised": Supervised,
    "vat": Vat,
    "mixmatch": MixMatch,
    "fixmatch": FixMatch,
    "ldp-normal": LdpNormal,
    "ldp-ssl": LdpSsl,
    "denoise-ssl": DenoiseSsl,
    "aug-descent": AugDescent,
    "dp-sgd": DpSgd,
}
"""Students by name, as `query retrain --student` takes them (docs/students.md)."""


def make_student(
    name: str, *, shape: Shape | None = None, classes: int | None = None, **options: Any
) -> Neural:
    """Make a student that has learnt nothing yet.

    Args:
        name: of its algorithm, one of `STUDENTS`.
        shape: of one record of the task.
        classes: how many classes or labels the task has.
        options: further parameters of the algorithm's class.

    Raises:
        OstrakaError: `config.invalid` for an unknown name or a parameter that the algorithm has not.
    """
    kind = student_class(name)
    unknown = sorted(set(options) - set(kind._get_param_names()))
    if unknown:
        raise OstrakaError(ErrorCode.CONFIG_INVALID, f"The student {name} has no parameter {unknown[0]}.")
    return kind(shape=shape, classes=classes, **options)


def student_class(name: str) -> type[Neural]:
    """Return the class of a student by name; raise `config.invalid` where there is none."""
    if name not in STUDENTS:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, f"There is no student {name}: choose one of {', '.join(STUDENTS)}."
        )
    return STUDENTS[name]
