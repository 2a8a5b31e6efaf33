"""Trains 250 teachers on MNIST, as many as in the papers: `make train-mnist`."""

from dataclasses import asdict
from typing import Annotated

import typer

from benchmarks.trained import measure
from ostraka.common.console.cli import run, write_json
from ostraka.services.teachers import TrainingConfig

app = typer.Typer(add_completion=False)


@app.command()
def train_mnist(
    teachers: Annotated[int, typer.Option(help="How many.")] = 250,
    model: Annotated[str, typer.Option(help="As for `ostraka party train`.")] = "cnn",
    rotate: Annotated[float, typer.Option(help="Degrees by which images turn; 7.5 in the paper.")] = 0.0,
    projection: Annotated[int | None, typer.Option(help="Features that images are brought to.")] = None,
    seed: Annotated[int, typer.Option(help="Of slices and training.")] = 0,
    json: Annotated[str | None, typer.Option(help="File for the figures; - is stdout.")] = None,
) -> None:
    """Print seconds and plurality accuracy on the 10,000 test images."""
    found = measure(
        "mnist.npz", TrainingConfig(teachers=teachers, model=model, rotate=rotate), seed, projection
    )
    if found is None:
        typer.echo("MNIST: skipped, ../shared/data lies not beside the checkout")
        return
    if json != "-":
        typer.echo(f"MNIST, {model}: {found.sentence}")
    write_json(asdict(found), json)


if __name__ == "__main__":
    run(app)
