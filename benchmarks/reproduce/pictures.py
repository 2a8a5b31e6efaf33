"""The papers' figures that are drawn anew, with the papers' axes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

_SIGMA = r"sigma (?P<x>[\d.]+): "
_NOISE = "standard deviation of the noise, votes"


@dataclass(frozen=True)
class Picture:
    """How the numbers of a cell are drawn.

    Attributes:
        names: regular expression for names of numbers: its group x is the x value, or the bar if it is a
            word; the other groups identify the line.
        x: label of the x axis.
        y: label of the y axis.
        scale: of the y axis.
    """

    names: str
    x: str
    y: str
    scale: Literal["linear", "log"] = "linear"


_MECHANISMS = Picture(_SIGMA + "queries by (.+)", _NOISE, "queries answered", "log")
_LABELS = Picture(r"(?P<x>\d+) labels: queries by (.+)", "labels of a query", "queries answered", "log")
_BAC = Picture(r"(\w+), sigma (?P<x>[\d.]+): BAC, %", _NOISE, "balanced accuracy, %")
_BINARY = replace(_BAC, names=r"(Binary), sigma (?P<x>[\d.]+): BAC, %")
_TAU = Picture(r"(tau) (?P<x>[\d.]+): BAC, %", "tau", "balanced accuracy, %")
_GAINED = Picture(r"(epsilon) (?P<x>[\d.]+): points of BAC gained", "epsilon", "points of BAC gained")
_HISTORY = Picture(r"(all alike|.+, log 4, .+): epsilon of (?P<x>[\d,]+) labels", "labels", "epsilon")
_VARIANTS = Picture(
    r"(upsampling|vanishing|weighting), (?P<x>log \d+ for \d+%): labels",
    "labels",
    "higher budget, share of records",
)
PICTURES: Mapping[str, Picture] = {
    "dziedzic-2023-figure-1": _MECHANISMS,
    "dziedzic-2023-figure-2": _GAINED,
    "dziedzic-2023-figure-3": Picture(
        r"(?P<x>\d) of 6 labels random: queries by (.+)", "random labels", "queries answered", "log"
    ),
    "dziedzic-2023-figure-4": _LABELS,
    "dziedzic-2023-figure-7": _LABELS,
    "dziedzic-2023-figure-8": _BAC,
    "dziedzic-2023-figure-9": Picture(
        r"(\w+): gaps of at most (?P<x>\d+)% of the voters, %", "gap, % of the voters", "queries, %"
    ),
    "dziedzic-2023-figure-10": Picture(
        r"(?P<x>\d+) labels: mean gap of (\w+), votes", "labels of a query", "mean gap, votes"
    ),
    "dziedzic-2023-figure-12": _TAU,
    "dziedzic-2023-figure-13": _TAU,
    "dziedzic-2023-figure-14": _BINARY,
    "dziedzic-2023-figure-15": _MECHANISMS,
    "dziedzic-2023-figure-17": Picture(r"(?P<x>.+): (ACC|BAC|mAP), %", "%", ""),
    "dziedzic-2023-figure-19": _BINARY,
    "dziedzic-2023-table-1-why": Picture(
        r"canvases, (?P<x>\d+) records a party, (.+): points of BAC",
        "records of a party",
        "points of BAC gained",
    ),
    "dziedzic-2023-table-2-why": Picture(
        r"(?P<x>.+): (without privacy|DP-SGD|Binary PATE): BAC, %", "balanced accuracy, %", ""
    ),
    "dziedzic-2023-table-4-why": Picture(
        r"made labels, parent in (?P<x>\d+)%: (all labels over .+|times the queries, .+)",
        "queries with the parent, %",
        "times as many queries",
    ),
    "papernot-2018-figure-2": Picture(r"(?:epsilon )?of (?P<x>GNMax|LNMax), (.+)", "epsilon", ""),
    "papernot-2018-figure-3": Picture(
        _SIGMA + "(epsilon, theorem6|whatever the votes)", _NOISE, "epsilon", "log"
    ),
    "papernot-2018-figure-4": Picture(
        r"(?P<x>[\d,]+) labels: epsilon (?:of )?(.+)", "labels answered", "epsilon"
    ),
    "papernot-2018-figure-6": Picture(r"(\w+): passing where the (?P<x>.+) of the teachers, %", "%", ""),
    "muehl-2022-figure-2": _HISTORY,
    "muehl-2022-figure-3": _HISTORY,
    "muehl-2022-table-4": _VARIANTS,
    "muehl-2022-table-5": _VARIANTS,
    "muehl-2022-figure-4": Picture(
        r"(?P<x>\w+), (sensitivities .+): ratio of epsilons", "ratio of costs", ""
    ),
    "dodwadmath-2022-figure-2": Picture(
        r"(S=\d+), gamma (?P<x>[\d.]+), (.+): right, %", "gamma", "labels that are right, %"
    ),
}
"""By cell."""
