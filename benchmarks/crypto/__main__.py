"""Measures Ostraka's cryptography beside other libraries: `python -m benchmarks.crypto --peers`."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.crypto.measured import Measured
from benchmarks.crypto.own import measure_argmax, measure_ballots, measure_head
from benchmarks.crypto.peers import install_command, run_peer
from benchmarks.crypto.tables import tabulate
from benchmarks.crypto.tasks import PEERS, Peer, Task
from ostraka.common.console.cli import run, write_json

WIDTH = 180  # characters of the widest table
OWN = {Task.BALLOTS: measure_ballots, Task.ARGMAX: measure_argmax, Task.HEAD: measure_head}

app = typer.Typer(add_completion=False)


@app.command()
def main(
    peers: Annotated[bool, typer.Option("--peers", help="Measure other libraries beside it.")] = False,
    folder: Annotated[
        Path, typer.Option(help="Virtual environment of the libraries, with Node's in node_modules.")
    ] = Path("build/peers"),
    repeats: Annotated[int, typer.Option(min=1, help="Repetitions; the median counts.")] = 3,
    json: Annotated[str | None, typer.Option(help="File for everything measured; - is stdout.")] = None,
) -> None:
    """Measure each task once more for every library that is installed, and say how to install the others."""
    console = Console(width=max(WIDTH, Console().width))
    measured: dict[str, dict[str, object]] = {}
    for task, measure in OWN.items():
        own = measure(repeats)
        beside: dict[Peer, Measured] = {}
        for peer in PEERS if peers else ():
            if peer.task == task and (found := run_peer(peer, folder, repeats)):
                beside[peer] = found
            elif peer.task == task:
                console.print(f"{peer.name}: not installed: {install_command(peer, folder)}")
        console.print(tabulate(task, own, beside))
        measured[task] = {peer.name: asdict(found) for peer, found in beside.items()}
        measured[task] |= {"Ostraka": asdict(own)}
    write_json(measured, json)


if __name__ == "__main__":
    run(app)
