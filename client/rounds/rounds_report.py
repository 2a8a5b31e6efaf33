"""Report of all rounds: queries, answers, worst-case costs, and the student's accuracy after each."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ostraka.client.report.costs import notion, party_costs
from ostraka.client.rounds.rounds_state import load_rounds, round_folder, runs
from ostraka.client.session.run_state import RunState
from ostraka.client.students.provenance import read_student

SHOWN = ("accuracy", "balanced_accuracy", "auc", "map")


def report(folder: Path, *, delta: float) -> dict[str, Any]:
    """Return the figures of all rounds in a folder, in JSON's types.

    Each of `rounds` has what it asked and got, what all rounds up to it cost the party that paid most, and
    the metrics of its student. Raises as `load_rounds` and `load_state`.
    """
    state = load_rounds(folder)
    states = runs(folder, state)
    students = [
        read_student(round_folder(folder, number), run.pool_sha256) for number, run in enumerate(states, 1)
    ]
    latest = next((student for student in reversed(students) if student), None)
    plans = [run.parsed_plan() for run in states]
    return {
        "run": str(folder),
        "task": state.task,
        "pool": state.pool_size,
        "settings": state.settings,
        "rounds": [
            _round(number, states[:number], students[number - 1], delta)
            for number in range(1, len(states) + 1)
        ],
        "stopped": next((run.stopped.model_dump() for run in reversed(states) if run.stopped), None),
        "mechanisms": [plan.mechanism.model_dump() for plan in plans],
        "adjacency": next((plan.adjacency for plan in plans), None),
        "delta": delta,
        "epsilon_is": "worst_case, of all rounds together",
        "notion": notion(states) if states else None,
        "unguaranteed": sorted({site for run in states for site in run.unguaranteed}),
        "parties": party_costs(states, delta) if states else [],
        "student": latest,
    }


def _round(
    number: int, so_far: Sequence[RunState], student: Mapping[str, Any] | None, delta: float
) -> dict[str, Any]:
    """Return the figures of the last of some rounds, and the cost of all of them."""
    run = so_far[-1]
    answers = run.answers()
    after = (student or {}).get("after") or {}
    return {
        "round": number,
        "mechanism": run.parsed_plan().mechanism.kind,
        "queries": run.parsed_plan().queries,
        "asked": len(answers),
        "answered": sum(answer is not None for answer in answers.values()),
        "by_student": len(run.by_student()),
        "learned": None if student is None else student["released"],
        "epsilon_worst_case": max(
            (party["epsilon_worst_case"] for party in party_costs(so_far, delta)), default=0.0
        ),
        **{name: after.get(name) for name in SHOWN},
    }
