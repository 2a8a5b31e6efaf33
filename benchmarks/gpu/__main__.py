"""Tests and measures Ostraka on this machine's GPU: `make gpu`."""

import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.gpu.figures import Figures, Size, measure
from ostraka.common.console.cli import run, write_json
from ostraka.common.errors import OstrakaError
from ostraka.common.learning.device import CUDA, GIB, Device

app = typer.Typer(add_completion=False)
TESTS = ("-m", "pytest", "-m", "gpu", "-n", "0", "tests/services", "tests/client")
SIMULATION = (
    *("-m", "ostraka.deploy.cli", "simulate", "--device", "cuda", "--model", "cnn", "--student", "mixmatch"),
    *("--parties", "3", "--teachers", "20"),
)
"""A whole federation whose teachers and student are on the GPU."""


@app.command()
def gpu(
    out: Annotated[Path, typer.Option(help="Folder for gpu.json and gpu.md.")] = Path("build/gpu"),
) -> None:
    """Run the tests that need a GPU, measure one, simulate a federation on it, and write what was found.

    Where there is none it says so, and is done.
    """
    device = Device(CUDA)
    try:
        device.require()
    except OstrakaError as error:
        typer.echo(f"no card: {error.message}")
        return
    passed = {name: _passes(command) for name, command in (("tests", TESTS), ("simulation", SIMULATION))}
    figures = measure(device, Size())
    out.mkdir(parents=True, exist_ok=True)
    write_json({**asdict(figures), **passed}, str(out / "gpu.json"))
    (out / "gpu.md").write_text(table(figures), encoding="utf-8")
    typer.echo(table(figures))
    failed = [name for name, well in passed.items() if not well]
    if failed:
        typer.echo(f"failed on {figures.device}: {' and '.join(failed)}", err=True)
        raise typer.Exit(1)


def _passes(command: tuple[str, ...]) -> bool:
    """Whether a Python command succeeds; it prints its own output."""
    return subprocess.run([sys.executable, *command], check=False).returncode == 0


def table(figures: Figures) -> str:
    """Return the table of docs/gpu.md."""
    rows = {
        "product of matrices, float32": f"{figures.float32_tflops:.1f} TFLOP/s",
        "the same, bfloat16": _number(figures.bfloat16_tflops, "{:.1f} TFLOP/s"),
        "training": f"{figures.training_s:.1f} s, {figures.training_times_a_core:.0f} times one core",
        "voting": f"{figures.voting_s:.2f} s, {figures.voting_tflops:.2f} TFLOP/s",
        "voting, of the product": f"{figures.voting_of_peak:.3f}",
        "votes as on the CPU": f"{100 * figures.agreement:.3f}%",
        "memory of the weights": _number(figures.held_bytes, "{:,} bytes"),
        "memory at most": _number(figures.most_bytes and figures.most_bytes / GIB, "{:.2f} GiB"),
        "ResNet-18": f"{figures.encoder_images_per_s:,.0f} images/s",
        "the same votes where memory is short": (
            f"{100 * figures.short_agreement:.3f}%, {figures.shortages} shortages"
        ),
    }
    lines = [
        f"| {figures.device} | |",
        "|---|---|",
        *(f"| {name} | {found} |" for name, found in rows.items()),
    ]
    return "\n".join(lines) + "\n"


def _number(found: float | None, form: str) -> str:
    return "-" if found is None else form.format(found)


if __name__ == "__main__":
    run(app)
