"""Report of all rounds: queries, answers, worst-case costs, and the student's accuracy after each."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ostraka.client.report.costs import notion, party_costs
from ostraka.client.report.run_figures import run_figures
from ostraka.client.run.rounds_state import load_rounds, queried_folders, runs_of
from ostraka.client.session.latecomers import Latecomers
from ostraka.client.session.run_state import RunState

COUNTED = ("queries", "asked", "answered", "by_student")
SHOWN = ("accuracy", "balanced_accuracy", "auc", "map")


def report(folder: Path, *, delta: float) -> dict[str, Any]:
    """Return the figures of all rounds in a folder, in JSON's types.

    Each of `rounds` has what it asked and got, what all rounds up to it cost the party that paid most, and
    the metrics of its student. Raises as `load_rounds` and `load_state`.
    """
    state = load_rounds(folder)
    folders = queried_folders(folder, state)
    made = [run_figures(one, delta) for one in folders]
    states = [runs_of(one) for one in folders]
    every = [run for one in states for run in one]
    return {
        "run": str(folder),
        "task": state.task,
        "pool": state.pool_size,
        "settings": state.settings,
        "rounds": [
            _round(number, figures, [run for one in states[:number] for run in one])
            for number, figures in enumerate(made, 1)
        ],
        "stopped": next((figures["stopped"] for figures in reversed(made) if figures["stopped"]), None),
        "mechanisms": [figures["mechanism"] for figures in made],
        "adjacency": next((figures["adjacency"] for figures in made), None),
        "delta": delta,
        "epsilon_is": "worst_case, of all rounds together",
        "notion": notion(every) if every else None,
        "unguaranteed": sorted({site for run in every for site in run.unguaranteed}),
        "latecomers": asdict(Latecomers.of(every)),
        "parties": party_costs(every, delta) if every else [],
        "student": next((figures["student"] for figures in reversed(made) if figures["student"]), None),
    }


def _round(number: int, figures: Mapping[str, Any], so_far: Sequence[RunState]) -> dict[str, Any]:
    """Return the figures of the last of some rounds, and the cost of all of them."""
    student = figures["student"]
    after = (student or {}).get("after") or {}
    costs = party_costs(so_far, figures["delta"])
    return {
        "round": number,
        "mechanism": figures["mechanism"]["kind"],
        **{name: figures[name] for name in COUNTED},
        "implied": figures.get("implied", 0),
        "learned": None if student is None else student["released"],
        "epsilon_worst_case": max((party["epsilon_worst_case"] for party in costs), default=0.0),
        **{name: after.get(name) for name in SHOWN},
    }
