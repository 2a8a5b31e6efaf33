"""Students by name."""

from collections.abc import Iterator, Mapping
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.shape import Shape
from ostraka.common.validation import OneOf

if TYPE_CHECKING:
    from ostraka.client.students.neural import Neural


class StudentsByName(Mapping[str, "type[Neural]"]):
    """Student classes by name, imported on first use, so listing the names does not import torch.

    Args:
        homes: "module:class" by name, each module below `ostraka.client.students`.
    """

    def __init__(self, homes: Mapping[str, str]) -> None:
        self._homes = homes

    def __getitem__(self, name: str) -> "type[Neural]":
        found: type[Neural] = resolve_name(f"{__package__}.{self._homes[name]}")
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)


_OF_RIGHT_LABELS = {
    "supervised": "supervised:Supervised",
    "vat": "vat:Vat",
    "mixmatch": "mixmatch:MixMatch",
    "fixmatch": "fixmatch:FixMatch",
    "dp-sgd": "dp_sgd.student:DpSgd",
}
_OF_RANDOMIZED_LABELS = {
    "ldp-normal": "label_dp.learners:LdpNormal",
    "ldp-ssl": "label_dp.learners:LdpSsl",
    "denoise-ssl": "label_dp.denoise_ssl:DenoiseSsl",
    "aug-descent": "label_dp.aug_descent:AugDescent",
}

STUDENTS: Mapping[str, "type[Neural]"] = StudentsByName(_OF_RIGHT_LABELS | _OF_RANDOMIZED_LABELS)
"""Students by name, as `query retrain --student` takes them (docs/students.md)."""

STUDENTS_TEXT = f"{', '.join(_OF_RIGHT_LABELS)}; for randomized labels {', '.join(_OF_RANDOMIZED_LABELS)}"
"""The list of students in help texts."""

KMEANS = "kmeans"
"""The default clustering of a pool for denoise-ssl and noise_cluster."""

VOTES_STUDENTS = OneOf(tuple(_OF_RIGHT_LABELS))
"""Names of students that treat labels as right, which own labels and votes mostly are."""
VotesStudent = Annotated[str, VOTES_STUDENTS]

DOUBTING_STUDENTS = OneOf(tuple(_OF_RANDOMIZED_LABELS))
"""Names of students for labels of which some are wrong."""
DoubtingStudent = Annotated[str, DOUBTING_STUDENTS]


def make_student(
    name: str, *, shape: Shape | None = None, classes: int | None = None, **options: Any
) -> "Neural":
    """Make an untrained student.

    Args:
        name: of its algorithm, one of `STUDENTS`.
        shape: of one record of the task.
        classes: number of the task's classes or labels.
        options: further parameters of the algorithm's class.

    Raises:
        OstrakaError: `config.invalid` for an unknown name or parameter.
    """
    kind = student_class(name)
    unknown = sorted(set(options) - set(kind._get_param_names()))
    if unknown:
        raise OstrakaError(ErrorCode.CONFIG_INVALID, f"The student {name} has no parameter {unknown[0]}.")
    return kind(shape=shape, classes=classes, **options)


def student_class(name: str) -> "type[Neural]":
    """Return the class of a student by name; raise `config.invalid` for an unknown name."""
    if name not in STUDENTS:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, f"There is no student {name}: choose one of {', '.join(STUDENTS)}."
        )
    return STUDENTS[name]
