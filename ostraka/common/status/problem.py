"""Obstacles found by status commands, as errors describe them."""

from dataclasses import dataclass
from typing import Self

from ostraka.common.errors import OstrakaError


@dataclass(frozen=True)
class Problem:
    """A stable code and its sentence."""

    code: str
    message: str

    @classmethod
    def of(cls, error: OstrakaError) -> Self:
        """Return the problem that an error describes."""
        return cls(error.code.value, error.message)

    def __str__(self) -> str:
        """As it is shown everywhere."""
        return f"[{self.code}] {self.message}"
