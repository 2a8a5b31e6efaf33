"""A field so small that probabilities can be measured in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ostraka.common.sharing.prime_field import FieldArray, PrimeField
from ostraka.common.verified.layout import Layout


@dataclass(frozen=True)
class TinyField(PrimeField):
    """Integers modulo 127, with challenges from the field of 127^2 elements."""

    bits: int = 7

    def __post_init__(self) -> None:
        """Accept the width that no plan may have."""

    @property
    def degree(self) -> int:
        return 2

    def reduce(self, values: FieldArray) -> FieldArray:
        return values % self.prime


class TinyLayout(Layout):
    """An unsound layout of many short wires."""

    def __post_init__(self) -> None:
        """Accept any probability of a forgery."""

    @cached_property
    def points(self) -> int:
        return 5
