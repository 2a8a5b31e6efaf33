"""Measures verified ballots beside others: `OPENBLAS_NUM_THREADS=1 python -m benchmarks.verified`."""

from rich.console import Console
from rich.table import Table

from benchmarks.verified.work import QUERIES, Steps, drawn, unverified, verified

CASES = [(10, 10, 10), (10, 50, 50), (20, 10, None), (20, 50, None)]
"""Counts of a query, teachers of a party, and the sum of a query's counts."""
BITS = (31, 61)
WIDTH = 160


def main() -> None:
    """Print a row for each kind of ballots and each field, and one for the same ballots unverified."""
    table = Table(
        "ballots",
        "shared in",
        "digits",
        "party",
        "point",
        "querying party",
        "guardian",
        "share",
        "proof",
        "message",
        "soundness",
        title=f"one party and {QUERIES:,} queries: processor ms (the point once a batch), bytes a query",
    )
    for cells, teachers, total in CASES:
        name = f"{cells} {'labels' if total is None else 'classes'}, {teachers} teachers"
        for bits in BITS:
            layout, counts = drawn(cells, teachers, total, bits)
            if bits == BITS[0]:
                table.add_row(name, "Z_2^64", "", *_ms(unverified(counts)), str(8 * cells), "", "", "none")
            sent = [layout.share_bytes, layout.proof_bytes, layout.message_bytes]
            table.add_row(
                name,
                f"2^{bits} - 1",
                str(len(layout.digits)),
                *_ms(verified(layout, counts)),
                *(f"{size / QUERIES:.1f}" for size in sent),
                f"2^-{layout.soundness_bits:.1f}",
            )
    Console(width=WIDTH).print(table)


def _ms(steps: Steps) -> list[str]:
    seconds = (steps.party, steps.point, steps.querier, steps.guardian)
    return [f"{1000 * value:.2f}" for value in seconds]


if __name__ == "__main__":
    main()
