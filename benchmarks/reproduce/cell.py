"""A table or figure of a paper, how it is reproduced here, and how the two compare."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Literal

CLOSE = 0.05
"""Relative distance at which two numbers count as equal for a reader."""


class Word(StrEnum):
    """How Ostraka compares with a table or figure."""

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
        name: its name, with its unit.
        values: one for each seed; a single one if nothing is random.
        paper: the paper's number, in the same unit; None if it is only in a picture or missing.
        better: which direction is better; None if the numbers should be equal.
        close: relative distance at which they count as equal.
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
        """The sample standard deviation; None for a single seed."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None

    @property
    def word(self) -> Word | None:
        """How it compares with the paper's number, within two deviations; None if there is none."""
        if self.paper is None:
            return None
        above = self.mean - self.paper
        if abs(above) <= max(self.close * abs(self.paper), 2 * (self.deviation or 0.0)):
            return Word.MET
        return Word.BETTER if self.better == ("higher" if above > 0 else "lower") else Word.DIFFERS


@dataclass(frozen=True)
class Claim:
    """A statement of the paper about a picture or an order of methods, and whether it is true here."""

    text: str
    holds: bool


@dataclass(frozen=True)
class Outcome:
    """The measurements of a run."""

    figures: tuple[Figure, ...] = ()
    claims: tuple[Claim, ...] = ()

    @property
    def word(self) -> Word:
        """The worst of all words; without any comparison, it differs."""
        words = [figure.word for figure in self.figures if figure.word is not None]
        words += [Word.MET if claim.holds else Word.DIFFERS for claim in self.claims]
        if not words or Word.DIFFERS in words:
            return Word.DIFFERS
        return Word.BETTER if Word.BETTER in words else Word.MET


@dataclass(frozen=True)
class Job:
    """How a cell is run.

    Attributes:
        quick: small, to check that it works.
        seeds: the seeds of its repetitions.
        folder: of teachers' votes and the like, which cells share and runs cache.
    """

    quick: bool
    seeds: Sequence[int]
    folder: Path


@dataclass(frozen=True)
class Cell:
    """A table or figure, or a part of one that is made separately.

    Attributes:
        id: author, year, and which table or figure.
        shows: what it shows.
        paper: what the paper says, in words, besides the numbers of the figures.
        data: the data of Ostraka's numbers; the paper's own if `other` is empty.
        run: makes it; None if nothing does.
        needs: files of the data folder.
        seeds: number of repetitions.
        seconds: approximate duration on two quiet cores without a cache; first small, then whole.
        lacking: the word if nothing makes it.
        other: why the numbers cannot equal the paper's although the cell is made: usually other data.
        why: notes on the word and the numbers; not shown before there are any.
        page: page of docs with more about it.
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
        """Return how an outcome compares with the paper; on other data, numbers are not comparable."""
        return Word.DIFFERS if self.other else outcome.word

    @property
    def command(self) -> str:
        """The command that makes it."""
        return f"python -m benchmarks.reproduce --only {self.id}"
