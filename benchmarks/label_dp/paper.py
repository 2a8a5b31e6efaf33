"""Tables 2 to 7 of Tang et al. 2022: labels and students in percent, trainings in hours."""

from collections.abc import Mapping
from dataclasses import dataclass

OURS = "ours"
Row = tuple[float, ...]


@dataclass(frozen=True)
class Published:
    """The paper's numbers for one data set.

    Attributes:
        epsilons: of Tables 2 to 5.
        private: right labels, by method.
        accuracy: of students, by method.
        compared_at: epsilons of Table 6.
        compared: its rows.
        non_private: accuracy without privacy.
    """

    epsilons: Row
    private: Mapping[str, Row]
    accuracy: Mapping[str, Row]
    compared_at: Row
    compared: Mapping[str, Row]
    non_private: float

    def student(self, method: str, epsilon: float | None) -> float | None:
        """Return the accuracy of a student; None if the paper has none."""
        return self.non_private if epsilon is None else _at(self.epsilons, self.accuracy, method, epsilon)

    def labels(self, method: str, epsilon: float) -> float | None:
        """Return the share of right private labels."""
        return _at(self.epsilons, self.private, method, epsilon)

    def beside(self, method: str, epsilon: float | None) -> float | None:
        """Return the accuracy in the comparison with other authors."""
        return self.non_private if epsilon is None else _at(self.compared_at, self.compared, method, epsilon)


def _at(epsilons: Row, rows: Mapping[str, Row], method: str, epsilon: float) -> float | None:
    row = dict(zip(epsilons, rows.get(method, ()), strict=False))
    return row.get(epsilon)


CIFAR10 = Published(
    (0.5, 1.0, 2.0, 4.0),
    {"rand-res": (15.5, 23.2, 45.2, 85.9), "pate-fm": (93.2, 93.7, 94.9, 94.9)},
    {
        "noise-cluster": (88.3, 88.3, 88.3, 88.3),
        "denoise-ssl": (90.7, 90.8, 91.2, 93.6),
        "ldp-ssl": (36.2, 61.9, 84.6, 92.7),
        "aug-descent": (37.7, 94.1, 95.2, 96.5),
        "pate-fm": (94.1, 94.5, 95.1, 95.1),
        "pate-fm+denoise-ssl": (93.3, 93.6, 93.7, 93.7),
        "pate-fm+ldp-ssl": (93.4, 94.2, 94.5, 94.5),
        "pate-fm+aug-descent": (94.6, 95.0, 95.1, 95.1),
    },
    (0.5, 1.0, 2.0, 3.0, 4.0),
    {
        OURS: (94.6, 95.0, 95.2, 96.2, 96.5),
        "alibi": (33.8, 70.0, 81.9, 87.2, 89.6),
        "lp-1st": (38.4, 61.4, 83.2, 89.5, 92.0),
    },
    97.2,
)
CIFAR100 = Published(
    (1.0, 2.0, 4.0, 6.0),
    {"rand-res": (2.7, 6.9, 35.8, 80.4), "pate-fm": (42.5, 48.1, 61.9, 69.3)},
    {
        "noise-cluster": (34.5, 34.5, 34.5, 34.5),
        "denoise-ssl": (8.3, 25.5, 43.3, 50.2),
        "ldp-ssl": (1.8, 3.5, 51.4, 70.5),
        "aug-descent": (2.6, 10.8, 75.3, 79.5),
        "pate-fm": (31.9, 55.1, 59.0, 68.1),
        "pate-fm+denoise-ssl": (30.7, 34.7, 40.3, 42.8),
        "pate-fm+ldp-ssl": (41.2, 47.4, 54.0, 58.1),
        "pate-fm+aug-descent": (46.0, 55.0, 60.1, 65.3),
    },
    (1.0, 2.0, 4.0),
    {OURS: (46.0, 55.1, 75.3), "alibi": (4.7, 20.4, 60.8), "lp-1st": (2.6, 7.6, 52.6)},
    83.3,
)
CINIC10 = Published(
    (0.5, 1.0, 2.0, 4.0),
    {"rand-res": (15.4, 23.2, 45.0, 85.9), "pate-fm": (30.2, 77.3, 79.9, 85.1)},
    {
        "noise-cluster": (62.8, 62.8, 62.8, 62.8),
        "denoise-ssl": (65.6, 66.3, 68.2, 72.1),
        "ldp-ssl": (20.8, 53.9, 73.6, 83.8),
        "aug-descent": (42.6, 80.7, 85.7, 88.7),
        "pate-fm": (25.5, 76.0, 81.1, 85.4),
        "pate-fm+denoise-ssl": (14.8, 70.5, 71.1, 71.8),
        "pate-fm+ldp-ssl": (18.2, 81.7, 82.0, 83.5),
        "pate-fm+aug-descent": (18.9, 87.6, 87.9, 88.1),
    },
    (0.5, 1.0, 2.0, 3.0, 4.0),
    {
        OURS: (65.6, 87.6, 87.9, 88.1, 88.7),
        "alibi": (30.6, 58.2, 69.8, 76.1, 79.5),
        "lp-1st": (19.7, 52.0, 71.8, 80.1, 84.6),
    },
    90.0,
)
HOURS = {"lp-1st": 2.3, "alibi": 2.9, "denoise-ssl": 47.6, "ldp-ssl": 26.9, "aug-descent": 10.0}
"""Table 7: hours of training on CIFAR10, on one P100."""
