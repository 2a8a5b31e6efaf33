"""Tables 4 to 10 of Mühl and Boenisch 2022: labels, teachers, students (Table 3 is part of 4)."""

from collections.abc import Mapping
from typing import NamedTuple


class Labels(NamedTuple):
    """Labels produced by upsampling, vanishing and weighting."""

    u: int
    v: int
    w: int


class Students(NamedTuple):
    """Accuracy of students with upsampling, vanishing, weighting and the mean budget for all, in %."""

    u: float
    v: float
    w: float
    average: float


Pair = tuple[int, int]
"""The higher budget in units of the lower one, log 2, and the percentage of records that have it."""

VARIANTS: Mapping[str, Mapping[Pair, Labels]] = {
    "mnist": {
        (2, 25): Labels(158, 25, 158),
        (2, 50): Labels(237, 67, 239),
        (2, 75): Labels(326, 157, 326),
        (3, 25): Labels(231, 0, 229),
        (3, 50): Labels(414, 84, 414),
        (3, 75): Labels(636, 285, 638),
        (4, 25): Labels(308, 0, 308),
        (4, 50): Labels(623, 115, 623),
        (4, 75): Labels(1038, 477, 1041),
    },
    "adult": {
        (2, 25): Labels(140, 16, 139),
        (2, 50): Labels(202, 57, 203),
        (2, 75): Labels(272, 133, 273),
        (3, 25): Labels(198, 10, 198),
        (3, 50): Labels(346, 75, 349),
        (3, 75): Labels(541, 236, 543),
        (4, 25): Labels(264, 8, 259),
        (4, 50): Labels(530, 95, 530),
        (4, 75): Labels(868, 400, 872),
    },
}
"""Tables 4 and 5."""

MINIMUM: Mapping[str, int] = {"mnist": 99, "adult": 88}
MAXIMUM: Mapping[str, Mapping[int, int]] = {
    "mnist": {2: 426, 3: 914, 4: 1540},
    "adult": {2: 354, 3: 763, 4: 1288},
}
AVERAGE: Mapping[str, Mapping[Pair, int]] = {
    "mnist": {
        (2, 25): 184,
        (2, 50): 269,
        (2, 75): 349,
        (3, 25): 349,
        (3, 50): 563,
        (3, 75): 748,
        (4, 25): 626,
        (4, 50): 1009,
        (4, 75): 1303,
    },
    "adult": {
        (2, 25): 158,
        (2, 50): 225,
        (2, 75): 291,
        (3, 25): 291,
        (3, 50): 474,
        (3, 75): 628,
        (4, 25): 528,
        (4, 50): 843,
        (4, 75): 1090,
    },
}
"""Baselines of Tables 4 and 5: one budget for all, the smallest, the largest, the mean."""


class Skewed(NamedTuple):
    """Higher budgets for some of Adult's rarer class only (Tables 6, 7 and 10); all except labels in %."""

    labels: int
    average: int
    accuracy: float
    precision: float
    recall: float
    student: float
    average_student: float


SKEWED: Mapping[Pair, Skewed] = {
    (2, 25): Skewed(90, 106, 86.68, 65.92, 56.05, 81.26, 80.34),
    (2, 50): Skewed(95, 123, 86.61, 63.12, 61.70, 81.41, 80.71),
    (2, 75): Skewed(101, 140, 86.19, 60.85, 66.24, 81.35, 80.91),
    (2, 100): Skewed(109, 157, 85.64, 58.95, 69.68, 80.57, 81.22),
    (3, 25): Skewed(93, 140, 86.60, 63.14, 61.73, 81.51, 80.91),
    (3, 50): Skewed(108, 193, 85.64, 58.94, 69.84, 80.72, 81.80),
    (3, 75): Skewed(132, 241, 84.12, 55.90, 75.46, 78.60, 82.13),
    (3, 100): Skewed(162, 289, 82.57, 53.53, 79.44, 77.78, 82.36),
    (4, 25): Skewed(96, 209, 86.25, 60.81, 66.12, 81.39, 81.87),
    (4, 50): Skewed(129, 320, 84.12, 55.84, 75.48, 78.74, 82.48),
    (4, 75): Skewed(172, 428, 81.82, 52.53, 81.01, 77.36, 82.65),
    (4, 100): Skewed(225, 524, 79.52, 49.94, 84.79, 76.24, 82.91),
}
PLAIN = {"accuracy": 86.18, "precision": 69.41, "recall": 48.82}
"""Adult without personalisation."""
MINIMUM_STUDENT: Mapping[str, float] = {"mnist": 84.51, "adult": 79.85}
MAXIMUM_STUDENT: Mapping[str, Mapping[int, float]] = {
    "mnist": {2: 92.40, 3: 94.01, 4: 94.76},
    "adult": {2: 82.52, 3: 83.02, 4: 83.23},
}
STUDENTS: Mapping[str, Mapping[Pair, Students]] = {
    "mnist": {
        (2, 25): Students(88.68, 60.18, 88.21, 89.10),
        (2, 50): Students(90.44, 78.83, 90.78, 91.17),
        (2, 75): Students(91.94, 88.58, 91.70, 91.81),
        (3, 25): Students(90.56, 0.0, 90.40, 91.81),
        (3, 50): Students(92.44, 82.42, 92.34, 93.06),
        (3, 75): Students(93.30, 90.84, 93.39, 93.71),
        (4, 25): Students(91.57, 0.0, 91.39, 93.53),
        (4, 50): Students(93.56, 85.85, 93.27, 94.09),
        (4, 75): Students(94.31, 92.78, 94.28, 94.60),
    },
    "adult": {
        (2, 25): Students(81.02, 76.17, 80.87, 81.18),
        (2, 50): Students(81.76, 78.62, 81.76, 82.00),
        (2, 75): Students(82.16, 80.70, 82.26, 82.36),
        (3, 25): Students(81.79, 75.73, 81.67, 82.36),
        (3, 50): Students(82.52, 79.32, 82.60, 82.81),
        (3, 75): Students(82.87, 82.09, 82.89, 83.01),
        (4, 25): Students(82.30, 75.31, 82.25, 82.84),
        (4, 50): Students(82.82, 79.97, 82.84, 83.10),
        (4, 75): Students(83.07, 82.72, 83.04, 83.19),
    },
}
"""Tables 8 and 9: one budget for all, the smallest and the largest; two budgets."""
