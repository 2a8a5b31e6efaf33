"""Pages of lists that grow with time: up to a thousand rows a message."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Protocol, TypeVar

ROWS = 1000

Row_co = TypeVar("Row_co", covariant=True)
Item = TypeVar("Item")


class Page(Protocol[Row_co]):
    """A message with some rows of a list."""

    @property
    def rows(self) -> Iterable[Row_co]:
        """Rows, in the list's order."""


def pages(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Yield items as many at a time as go into a message."""
    left = iter(items)
    while page := list(islice(left, ROWS)):
        yield page


def rows_of(stream: Iterable[Page[Item]]) -> Iterator[Item]:
    """Yield the rows of all pages, one after the other."""
    for page in stream:
        yield from page.rows
