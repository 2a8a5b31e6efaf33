"""Figures of a run by one command: of one session, or of several that asked for different labels."""

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ostraka.client.report.combined_report import report as of_combined
from ostraka.client.report.costs import notion, party_costs
from ostraka.client.run.combined import combined_answers, is_combined
from ostraka.client.session.answers import label_matrix
from ostraka.client.session.latecomers import Latecomers
from ostraka.client.session.run_state import RunState, load_state
from ostraka.client.students.provenance import read_student
from ostraka.common.plan.plan import Plan


def run_figures(run: Path, delta: float) -> dict[str, Any]:
    """Return a run's figures in JSON's types, as `run_report.report` says; raise as that does."""
    if is_combined(run):
        combined = combined_answers(run)
        student = read_student(run, combined.pool_sha256)
        return of_combined(run, combined, delta=delta) | {"student": student}
    state = load_state(run)
    return _single(run, state, delta) | {"student": read_student(run, state.pool_sha256)}


def _single(run: Path, state: RunState, delta: float) -> dict[str, Any]:
    """Return the figures of one run of one plan."""
    plan, answers = state.parsed_plan(), state.by_query()
    answered = sum(answer is not None for answer in answers.values())
    return {
        "run": str(run),
        "task": state.task,
        "queries": plan.queries,
        "asked": len(answers),
        "answered": answered,
        "abstained": len(answers) - answered,
        "by_student": len(state.by_student()),
        "unasked": plan.queries - len(answers),
        "unsettled_batches": sum(batch.status == "open" for batch in state.batches),
        "lost": state.lost(),
        "labels": _labels(state, plan),
        "classes": _classes(state, plan),
        "asked_labels": [state.classes[label] for label in plan.labels],
        "stopped": state.stopped.model_dump() if state.stopped else None,
        "mechanism": plan.mechanism.model_dump(),
        "variant": plan.variant,
        "encoding": plan.encoding,
        "tally": plan.tally,
        "ballots": plan.ballots,
        "encoder": plan.encoder,
        "scale": state.scale,
        "quorum": plan.quorum,
        "adjacency": plan.adjacency,
        "delta": delta,
        "enforce": state.enforce,
        "bound": state.bound,
        "epsilon_is": "worst_case, of this run alone",
        "unguaranteed": list(state.unguaranteed),
        "notion": notion([state]),
        "latecomers": asdict(Latecomers.of([state])),
        "parties": party_costs([state], delta),
    }


def _labels(state: RunState, plan: Plan) -> list[dict[str, Any]]:
    """Of each label of a multi-label task, how many queries got an answer and how many a positive one."""
    if not plan.multi_label:
        return []
    bits = label_matrix(list(state.answers().values()), len(state.classes))
    return [
        {"name": name, "answered": int((column >= 0).sum()), "positive": int((column == 1).sum())}
        for name, column in zip(state.classes, bits.T, strict=True)
    ]


def _classes(state: RunState, plan: Plan) -> list[dict[str, Any]]:
    """Of each class of a task that has one a record, how many queries got it as the answer."""
    if plan.multi_label:
        return []
    given = Counter(state.by_query().values())
    return [{"name": name, "answered": given[index]} for index, name in enumerate(state.classes)]
