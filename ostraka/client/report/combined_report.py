"""Combined report of runs over one pool: queries, answers and costs."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from ostraka.client.report.costs import notion, party_costs
from ostraka.client.run.combined import Combined
from ostraka.client.session.answers import label_matrix
from ostraka.client.session.latecomers import Latecomers


def report(folder: Path, combined: Combined, *, delta: float) -> dict[str, Any]:
    """Return the figures of all runs in a folder, in JSON's types.

    Epsilons are of all runs together. `implied` counts labels that are absent because their parent is, and
    `labels` says of each label how often; `parts` has what each run asked.
    """
    states = list(combined.parts.values())
    first, plan = states[0], states[0].parsed_plan()
    whole = combined.answers.keys() - combined.partly
    answered = sum(combined.answers[row] is not None for row in whole)
    return {
        "run": str(folder),
        "task": combined.task,
        "queries": combined.queries,
        "asked": len(whole),
        "answered": answered,
        "abstained": len(whole) - answered,
        "by_student": 0,
        "unasked": combined.queries - len(whole),
        "partly": len(combined.partly),
        "implied": sum(map(len, combined.implied.values())),
        "unsettled_batches": sum(batch.status == "open" for state in states for batch in state.batches),
        "lost": sum(state.lost() for state in states),
        "labels": _labels(combined),
        "asked_labels": [],
        "parts": [_part(name, combined) for name in combined.parts],
        "stopped": next((state.stopped.model_dump() for state in states if state.stopped), None),
        "mechanism": plan.mechanism.model_dump(),
        "variant": plan.variant,
        "encoding": plan.encoding,
        "tally": plan.tally,
        "ballots": plan.ballots,
        "encoder": plan.encoder,
        "scale": first.scale,
        "quorum": plan.quorum,
        "adjacency": plan.adjacency,
        "delta": delta,
        "enforce": first.enforce,
        "bound": first.bound,
        "epsilon_is": "worst_case, of all runs in this folder together",
        "unguaranteed": sorted({site for state in states for site in state.unguaranteed}),
        "notion": notion(states),
        "latecomers": asdict(Latecomers.of(states)),
        "parties": party_costs(states, delta),
    }


def _labels(combined: Combined) -> list[dict[str, Any]]:
    """Of each label, how many queries got an answer, a positive one, and one that its parent implied."""
    bits = label_matrix(list(combined.answers.values()), len(combined.classes))
    implied = [label for labels in combined.implied.values() for label in labels]
    return [
        {
            "name": name,
            "answered": int((column >= 0).sum()) - implied.count(label),
            "positive": int((column == 1).sum()),
            "implied": implied.count(label),
        }
        for label, (name, column) in enumerate(zip(combined.classes, bits.T, strict=True))
    ]


def _part(name: str, combined: Combined) -> dict[str, Any]:
    """Return what one run asked about, by which mechanism, and of how many queries."""
    state = combined.parts[name]
    plan = state.parsed_plan()
    return {
        "folder": name,
        "labels": [combined.classes[label] for label in plan.labels or range(len(combined.classes))],
        "mechanism": plan.mechanism.model_dump(),
        "asked": len(state.answers()),
        "closed": state.closed,
    }
