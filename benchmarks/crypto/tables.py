"""The measurements, one table per task."""

from collections.abc import Mapping

from rich.table import Table

from benchmarks.crypto.measured import Measured
from benchmarks.crypto.tasks import OWN_PROMISE, QUERIES, Peer, Task


def tabulate(task: Task, own: Measured, peers: Mapping[Peer, Measured]) -> Table:
    """Return a table of one task: Ostraka, then each library and its cost relative to Ostraka's."""
    table = Table(
        "who",
        "security",
        "processor ms of each role",
        "ms",
        "bytes",
        "messages a batch",
        "times ms",
        "times bytes",
        title=f"{task}, {QUERIES[task]:,} queries a batch: processor ms and bytes a query, all roles",
    )
    table.add_row(f"Ostraka {own.version}", OWN_PROMISE[task], *_cells(own), "1", "1")
    for peer, measured in peers.items():
        table.add_row(
            f"{peer.name} {measured.version}", peer.promise, *_cells(measured), *times(measured, own)
        )
    return table


def times(peer: Measured, own: Measured) -> tuple[str, str]:
    """Return a library's cost as multiples of Ostraka's, in processor time and in bytes."""
    return (
        tell(peer.milliseconds / own.milliseconds),
        tell(peer.bytes_sent / own.bytes_sent),
    )


def tell(figure: float) -> str:
    """Return a figure with two significant digits, or with all digits of its integer part."""
    digits = f"{figure:.2g}"
    return digits if "e" not in digits else f"{figure:,.0f}"


def _cells(measured: Measured) -> tuple[str, str, str, str]:
    each = (f"{role} {tell(1e3 * s / measured.queries)}" for role, s in measured.seconds.items())
    return (
        ", ".join(each),
        tell(measured.milliseconds),
        f"{measured.bytes_sent:,.0f}",
        f"{measured.messages:,}",
    )
