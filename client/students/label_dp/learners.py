"""Students that learn from differentially private labels as they are.

Tang et al. 2022, section 4.3.1, Algorithm 6.
"""

from ostraka.client.students.fixmatch import FixMatch
from ostraka.client.students.supervised import Supervised
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.augmentation import Augmentation
from ostraka.common.learning.objective import Objective


class LdpNormal(Supervised):
    """LDP-Normal: a network of the noisy labels as if they were right."""

    def objective(self, views: Augmentation, *, multi_label: bool) -> Objective:
        """Cross-entropy of weak views; raises `config.invalid` for records of several labels."""
        require_one_label("ldp-normal", multi_label=multi_label)
        return super().objective(views, multi_label=multi_label)


class LdpSsl(FixMatch):
    """LDP-SSL: FixMatch on the noisy labels, with the features of all records."""

    def objective(self, views: Augmentation, *, multi_label: bool) -> Objective:
        """FixMatch's loss; raises `config.invalid` for records of several labels."""
        require_one_label("ldp-ssl", multi_label=multi_label)
        return super().objective(views, multi_label=multi_label)


def require_one_label(student: str, *, multi_label: bool) -> None:
    """Raise `config.invalid` for records that have any number of labels."""
    if multi_label:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"The student {student} learns one label a record: take another for a task of several labels.",
        )
