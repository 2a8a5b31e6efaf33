"""File formats of fitted estimators, by suffix."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from ostraka.common.estimators import boosters, skops_files
from ostraka.common.estimators.boosters import LIBRARIES


@dataclass(frozen=True)
class Format:
    """How fitted estimators of some kinds are written and read.

    Attributes:
        suffix: the suffix of their files.
        holds: whether it is the format of an estimator.
        dumps: returns an estimator as a file's content; raises UnknownTypeError if it cannot be stored.
        loads: returns the estimator in a file's content, for records with this many values (None: any);
            raises UnknownTypeError and DamagedModelError.
    """

    suffix: str
    holds: Callable[[Any], bool]
    dumps: Callable[[Any], bytes]
    loads: Callable[[bytes, int | None], Any]


FORMATS: tuple[Format, ...] = (
    *(
        Format(
            f".{library}.json",
            partial(boosters.is_of, library),
            boosters.dumps,
            partial(boosters.loads, library),
        )
        for library in LIBRARIES
    ),
    Format(".skops", lambda model: True, skops_files.dumps, skops_files.loads),
)
"""All formats; an estimator has the first one whose `holds` is true."""


def format_of(model: Any) -> Format:
    """Return the format in which an estimator is stored."""
    return next(kind for kind in FORMATS if kind.holds(model))
