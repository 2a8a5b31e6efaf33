"""Measurements as programs report them: only the standard library, as their interpreters lack Ostraka's."""

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Measured:
    """Cost of one batch.

    Attributes:
        version: of the library.
        queries: number of queries in the batch.
        seconds: processor time of each role, median of the repetitions.
        sent: bytes that all roles sent.
        messages: number of messages that all roles sent.
    """

    version: str
    queries: int
    seconds: Mapping[str, float]
    sent: int
    messages: int

    @property
    def milliseconds(self) -> float:
        """Processor time per query, all roles together."""
        return 1e3 * sum(self.seconds.values()) / self.queries

    @property
    def bytes_sent(self) -> float:
        """Bytes per query, all roles together."""
        return self.sent / self.queries

    def tell(self) -> None:
        """Print it as one line, the last, for the process that started the program."""
        print(json.dumps(asdict(self)), flush=True)


def median_of(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return each role's median over repetitions, which all have the same roles."""
    return {role: statistics.median(run[role] for run in runs) for role in runs[0]}


def add_up(parts: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return the sum of each role's parts."""
    sums: dict[str, float] = {}
    for role, part in parts:
        sums[role] = sums.get(role, 0.0) + part
    return sums
