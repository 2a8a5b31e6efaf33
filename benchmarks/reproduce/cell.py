"""A table or figure of a paper, what makes it here, and how the two compare."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Literal

CLOSE = 0.05
"""Relative distance at which two numbers are the same for a reader."""


class Word(StrEnum):
    """How Ostraka stands to a table or figure."""

    MET = "met"
    BETTER = "better"
    DIFFERS = "differs"
    AGREEMENT = "needs an agreement"
    NOT_PUBLISHED = "not published"
    NOTHING = "nothing to measure"


@dataclass(frozen=True)
class Figure:
    """One number, by seed.

    Attributes:
        name: what it is, with its unit.
        values: one for each seed; one alone where nothing is drawn.
        paper: what the paper says of it, in the same unit; none where it is told in a picture or not at all.
        better: which direction is better; none where the number is to be the same.
        close: relative distance at which it is the same.
    """

    name: str
    values: tuple[float, ...]
    paper: float | None = None
    better: Literal["higher", "lower"] | None = None
    close: float = CLOSE

    @property
    def mean(self) -> float:
        """The mean over seeds."""
        return statistics.fmean(self.values)

    @property
    def deviation(self) -> float | None:
        """The deviation of the sample; none of a single seed."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None

    @property
    def word(self) -> Word | None:
        """How it stands to the paper's number, within two deviations; none where there is none."""
        if self.paper is None:
            return None
        above = self.mean - self.paper
        if abs(above) <= max(self.close * abs(self.paper), 2 * (self.deviation or 0.0)):
            return Word.MET
        return Word.BETTER if self.better == ("higher" if above > 0 else "lower") else Word.DIFFERS


@dataclass(frozen=True)
class Claim:
    """What the paper says of a picture or of an order of methods, and whether it holds here."""

    text: str
    holds: bool


@dataclass(frozen=True)
class Outcome:
    """What a run measured."""

    figures: tuple[Figure, ...] = ()
    claims: tuple[Claim, ...] = ()

    @property
    def word(self) -> Word:
        """The worst of all words; what is compared with nothing differs."""
        words = [figure.word for figure in self.figures if figure.word is not None]
        words += [Word.MET if claim.holds else Word.DIFFERS for claim in self.claims]
        if not words or Word.DIFFERS in words:
            return Word.DIFFERS
        return Word.BETTER if Word.BETTER in words else Word.MET


@dataclass(frozen=True)
class Job:
    """How a cell is run.

    Attributes:
        quick: in small, to see that it works.
        seeds: over which it is repeated.
        folder: of teachers' votes and the like, which cells share and runs keep.
    """

    quick: bool
    seeds: Sequence[int]
    folder: Path


@dataclass(frozen=True)
class Cell:
    """A table or figure, or a part of one that is made by itself.

    Attributes:
        id: author, year, and which table or figure.
        shows: what it shows.
        paper: what the paper says, in words, beside the numbers of the figures.
        data: on which data Ostraka's numbers are; the paper's own where `other` is empty.
        run: what makes it; none where nothing does.
        needs: files of the data folder.
        seeds: over which it is repeated.
        seconds: that it takes about on two quiet cores with nothing kept; first in small, then whole.
        lacking: the word where nothing makes it.
        other: why the numbers cannot be the paper's though the cell is made: other data, as a rule.
        why: what is to be known about the word and the numbers; not shown where there are none yet.
        page: of docs that has more about it.
    """

    id: str
    shows: str
    paper: str
    data: str = ""
    run: Callable[[Job], Outcome] | None = None
    needs: tuple[str, ...] = ()
    seeds: int = 1
    seconds: tuple[float, float] = (1.0, 5.0)
    lacking: Word | None = None
    other: str = ""
    why: str = ""
    page: str = ""

    def word(self, outcome: Outcome) -> Word:
        """Return how an outcome stands to the paper; on other data no number is the paper's."""
        return Word.DIFFERS if self.other else outcome.word

    @property
    def command(self) -> str:
        """What makes it."""
        return f"python -m benchmarks.reproduce --only {self.id}"
