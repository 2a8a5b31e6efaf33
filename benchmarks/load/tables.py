"""Tables of the measurements."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich.table import Table

Measured = Mapping[str, Any]


def load_table(case: Measured) -> Table:
    """Return a row for each kind of call of one case."""
    table = Table(
        "call",
        "calls",
        "guardian ms each",
        "guardian s",
        "others ms each",
        "bytes sent",
        "received",
        "p50 ms",
        "p99 ms",
        *(("relay ms each", "agents ms each") if case["relayed"] else ()),
        title=f"{case['parties']:,} parties, {case['queries']} queries a batch, {case['ballots']} ballots, "
        f"{case['ledger']}, guardians: {case['guardians']}, at most {case['peak_mb']:,.0f} MB",
    )
    for row in case["calls"]:
        table.add_row(
            row["call"],
            f"{row['calls']:,}",
            f"{row['guardian_ms']:,.2f}",
            f"{row['guardian_s']:,.3f}",
            f"{row['client_ms']:,.2f}",
            f"{row['sent']:,.0f}",
            f"{row['received']:,.0f}",
            f"{row['p50_ms']:,.1f}",
            f"{row['p99_ms']:,.1f}",
            *((f"{row['relay_ms']:,.2f}", f"{row['agents_ms']:,.2f}") if case["relayed"] else ()),
        )
    return table


def attach_table(cases: Sequence[Measured]) -> Table:
    """Return the cost of attaching each case's parties to a relay, and the memory of both sides."""
    table = Table(
        "attached", "in s", "relay ms each", "relay MB then", "relay MB at most", "agents MB at most"
    )
    for case in cases:
        by = case["relayed"]
        table.add_row(
            f"{case['parties']:,}",
            f"{by['attach_s']:,.1f}",
            f"{by['attach_ms']:,.2f}",
            f"{by['attached_mb']:,.0f}",
            f"{by['relay_peak_mb']:,.0f}",
            f"{by['agents_peak_mb']:,.0f}",
        )
    return table


def growth_table(cases: Sequence[Measured]) -> Table:
    """Return the guardian's processor seconds by kind of call and number of parties, with the exponent."""
    names = list(dict.fromkeys(row["call"] for row in cases[0]["calls"]))
    counts = [case["parties"] for case in cases]
    table = Table(
        "processor s of all such calls of a batch, or a session",
        *(f"{count:,}" for count in counts),
        "grows as parties to the",
    )
    for name in names:
        seconds = [last_seconds(case, name) for case in cases]
        table.add_row(name, *(f"{value:,.3f}" for value in seconds), growth(counts, seconds))
    return table


def growth(counts: Sequence[int], values: Sequence[float]) -> str:
    """Return the exponent between the two largest cases; empty if there is only one."""
    if len(counts) < 2 or min(values[-2:]) <= 0:
        return ""
    return f"{np.log(values[-1] / values[-2]) / np.log(counts[-1] / counts[-2]):.2f}"


def last_seconds(case: Measured, name: str) -> float:
    """Return the total cost of the last calls of a kind: the first batch includes many imports."""
    return float([row["guardian_s"] for row in case["calls"] if row["call"] == name][-1])
