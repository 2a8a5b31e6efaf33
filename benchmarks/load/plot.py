"""Growth of a guardian's work and memory with the number of parties."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.load.tables import Measured, last_seconds

CALLS = ("Register", "OpenSession", "OpenBatch", "SubmitBallots", "Prepare", "Release")


def plot(cases: Sequence[Measured], target: Path) -> None:
    """Draw processor seconds by call, and memory, against parties; write an image."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    work, memory = figure.subplots(1, 2)
    parties = [case["parties"] for case in cases]
    for name in CALLS:
        work.loglog(parties, [last_seconds(case, name) for case in cases], marker=".", label=name)
    work.set(xlabel="parties", ylabel="processor seconds of the guardian, all parties")
    work.legend(frameon=False, fontsize="small")
    memory.plot(parties, [case["peak_mb"] for case in cases], marker=".", color="#0072b2")
    memory.set(xlabel="parties", ylabel="most memory of the guardian, MB", ylim=(0, None))
    figure.savefig(target, dpi=120)
