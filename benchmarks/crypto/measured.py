"""What was measured, as programs tell it: standard library alone, since their interpreters lack Ostraka's."""

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Measured:
    """What one batch took.

    Attributes:
        version: of the library.
        queries: of the batch.
        seconds: processor time of each role, median of the repetitions.
        sent: bytes that all roles sent.
        messages: that all roles sent.
    """

    version: str
    queries: int
    seconds: Mapping[str, float]
    sent: int
    messages: int

    @property
    def milliseconds(self) -> float:
        """Processor time a query, all roles together."""
        return 1e3 * sum(self.seconds.values()) / self.queries

    @property
    def bytes_sent(self) -> float:
        """Bytes a query, all roles together."""
        return self.sent / self.queries

    def tell(self) -> None:
        """Print it as the one line that whoever started the program reads, the last one."""
        print(json.dumps(asdict(self)), flush=True)


def median_of(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return each role's median over repetitions, in all of which the roles are the same."""
    return {role: statistics.median(run[role] for run in runs) for role in runs[0]}


def add_up(parts: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return the sum of each role's parts."""
    sums: dict[str, float] = {}
    for role, part in parts:
        sums[role] = sums.get(role, 0.0) + part
    return sums
