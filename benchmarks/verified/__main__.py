"""Measures verified ballots beside others: `OPENBLAS_NUM_THREADS=1 python -m benchmarks.verified`."""

import tempfile
from enum import StrEnum
from itertools import product
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.verified.sessions import run_sessions, sessions_table
from benchmarks.verified.work import (
    QUERIES,
    Said,
    Steps,
    draw,
    draw_noised,
    draw_sum,
    measure_plain,
    measure_verified,
)
from ostraka.common.console.cli import run
from ostraka.common.sharing.ballots import ClassCounts, LabelCounts
from ostraka.deploy.simulation.settings import Settings

TEACHERS = (10, 50)
BALLOTS = {
    "10 classes": (10, ClassCounts()),
    "20 labels": (20, LabelCounts()),
    "20 labels, tau 2": (20, LabelCounts(2.0, norm=2)),
    "20 labels, tau1 3": (20, LabelCounts(3.0, norm=1)),
}
"""Counts of a query, and how they are counted."""
NOISE = (1.5, 5.7, 40.0)
"""Deviations of the noise that each party adds to ballots of the first kind, in votes."""
SUMS = ((650, 200), (650, 100_000), (2795, 200), (7850, 200), (2**15, 1000))
"""Values of a sum and records of a party: 64 features and 10 classes, a Gram sum, 784 features, the
maximum."""
BITS = (31, 61)
WIDTH = 160  # characters of the widest table

app = typer.Typer(add_completion=False)


class Part(StrEnum):
    """Parts that can be measured separately."""

    WORK = "work"
    SESSIONS = "sessions"


@app.command()
def main(
    only: Annotated[Part | None, typer.Option(help="Measure this part alone.")] = None,
    parties: Annotated[int, typer.Option(min=2, help="Answering parties of the sessions.")] = 50,
    teachers: Annotated[int, typer.Option(min=1, help="Teachers of each party.")] = 10,
    queries: Annotated[int, typer.Option(min=1, help="Size of the pool.")] = 1000,
    batch: Annotated[int, typer.Option(min=1, help="Queries released together.")] = 1000,
    data: Annotated[str, typer.Option(help="digits, or an .npz, .csv or .parquet file.")] = "digits",
    repeats: Annotated[int, typer.Option(min=1, help="Sessions of each kind; the fastest counts.")] = 3,
) -> None:
    """Measure each side's work alone, then whole sessions, with ballots verified and not."""
    console = Console(width=WIDTH)
    if only != Part.SESSIONS:
        console.print(work_table())
        console.print(sums_table())
    if only != Part.WORK:
        settings = Settings(
            data=data,
            parties=parties,
            teachers=teachers,
            labelled=20,
            queries=queries,
            batch_size=batch,
            epsilon=1e6,
            model="logistic_regression",
        )
        with tempfile.TemporaryDirectory() as folder:
            console.print(sessions_table(settings, list(run_sessions(settings, Path(folder), repeats))))


def work_table() -> Table:
    """Return a row for each kind of ballots and each field, and one for the same ballots unverified."""
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
    for (told, (cells, ballot)), teachers in product(BALLOTS.items(), TEACHERS):
        name = f"{told}, {teachers} teachers"
        for bits in BITS:
            layout, counts = draw(ballot, cells, teachers, bits)
            if bits == BITS[0]:
                table.add_row(name, "Z_2^64", "", *_ms(measure_plain(counts)), str(8 * cells), "", "", "none")
            table.add_row(name, *_row_of(bits, (layout, counts)))
    classes, _ = BALLOTS["10 classes"]
    for sigma, bits in product(NOISE, BITS):
        name = f"10 classes, {TEACHERS[0]} teachers, noise {sigma:g}"
        table.add_row(name, *_row_of(bits, draw_noised(sigma, classes, TEACHERS[0], bits)))
    return table


def _row_of(bits: int, said: Said) -> list[str]:
    """Return field, digits, work and bytes of a party's proof."""
    layout, _ = said
    return [
        f"2^{bits} - 1",
        str(len(layout.writing.counts.digits)),
        *_ms(measure_verified(*said)),
        *(f"{size / QUERIES:.1f}" for size in (layout.share_bytes, layout.proof_bytes, layout.message_bytes)),
        f"2^-{layout.soundness_bits:.1f}",
    ]


def sums_table() -> Table:
    """Return a row for sums of each length."""
    table = Table(
        "values",
        "records",
        "digits",
        "party",
        "point",
        "querying party",
        "guardian",
        "share",
        "proof",
        "message",
        "soundness",
        title="one sum of one party: processor ms (the point once a batch, or a few times), bytes",
    )
    for values, records in SUMS:
        layout, counts = draw_sum(values, records)
        table.add_row(
            f"{values:,}",
            f"{records:,}",
            str(len(layout.writing.counts.digits)),
            *_ms(measure_verified(layout, counts)),
            *(f"{size:,}" for size in (layout.share_bytes, layout.proof_bytes, layout.message_bytes)),
            f"2^-{layout.soundness_bits:.1f}",
        )
    return table


def _ms(steps: Steps) -> list[str]:
    seconds = (steps.party, steps.point, steps.querier, steps.guardian)
    return [f"{1000 * value:.2f}" for value in seconds]


if __name__ == "__main__":
    run(app)
