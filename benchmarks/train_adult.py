"""Trains 250 forests on Adult, as in Mühl and Boenisch 2022: `python -m benchmarks.train_adult`."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from benchmarks.trained import measure
from ostraka.common.console.cli import run, write_json
from ostraka.services.teachers import TrainingConfig

TREES = 100  # scikit-learn's default

app = typer.Typer(add_completion=False)


def forest(shape: tuple[int, ...], classes: int) -> Any:
    """Build a random forest of `TREES` trees."""
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=TREES)


@app.command()
def train_adult(
    teachers: Annotated[int, typer.Option(help="How many.")] = 250,
    seed: Annotated[int, typer.Option(help="Of slices and training.")] = 0,
    json: Annotated[str | None, typer.Option(help="File for the figures; - is stdout.")] = None,
) -> None:
    """Print seconds and plurality accuracy on the 16,281 test records."""
    model = f"benchmarks.train_adult:{forest.__name__}"
    found = measure("adult.npz", TrainingConfig(teachers=teachers, model=model), seed)
    if found is None:
        typer.echo("Adult: skipped, ../shared/data lies not beside the checkout")
        return
    if json != "-":
        typer.echo(f"Adult, forests of {TREES} trees: {found.sentence}")
    write_json(asdict(found), json)


if __name__ == "__main__":
    run(app)
