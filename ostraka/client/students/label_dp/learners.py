"""Students that learn from differentially private labels unchanged.

Tang et al. 2022, section 4.3.1, Algorithm 6.
"""

from ostraka.client.students.fixmatch import FixMatch
from ostraka.client.students.supervised import Supervised
from ostraka.common.errors import ErrorCode, OstrakaError


class LdpNormal(Supervised):
    """LDP-Normal: a network trained on the noisy labels as if they were right; multi-label, each label
    alone."""


class LdpSsl(FixMatch):
    """LDP-SSL: FixMatch on the noisy labels, with the features of all records."""


def require_one_label(student: str, *, multi_label: bool) -> None:
    """Raise `config.invalid` for multi-label records."""
    if multi_label:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"The student {student} learns one label a record; for several take ldp-ssl or ldp-normal.",
        )
