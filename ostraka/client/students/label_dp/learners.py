"""Students that learn from differentially private labels as they are.

Tang et al. 2022, section 4.3.1, Algorithm 6.
"""

from ostraka.client.students.fixmatch import FixMatch
from ostraka.client.students.supervised import Supervised
from ostraka.common.errors import ErrorCode, OstrakaError


class LdpNormal(Supervised):
    """LDP-Normal: a network trained on the noisy labels as if they were correct, each of several labels
    alone."""


class LdpSsl(FixMatch):
    """LDP-SSL: FixMatch on the noisy labels, with the features of all records."""


def require_one_label(student: str, *, multi_label: bool) -> None:
    """Raise `config.invalid` for records that have any number of labels."""
    if multi_label:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"The student {student} learns one label a record; for several take ldp-ssl or ldp-normal.",
        )
