"""Report of one run: queries, answers and worst-case costs; only released labels depend on votes."""

from collections import Counter
from pathlib import Path
from typing import Any

from ostraka.client.dependencies.combined import combined_answers, is_combined
from ostraka.client.dependencies.reporting import report as of_combined
from ostraka.client.report.costs import notion, party_costs
from ostraka.client.rounds.rounds_report import report as of_rounds
from ostraka.client.rounds.rounds_state import is_rounds
from ostraka.client.session.answers import label_matrix
from ostraka.client.session.run_state import RunState, load_state
from ostraka.client.students.provenance import read_student
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.plan import Plan

DELTA = 1e-5


def report(run: Path, *, delta: float = DELTA) -> dict[str, Any]:
    """Return a run's figures in JSON's types.

    `parties` has, for each, what this run's releases cost one of its records, or one record's label, at worst
    and by which `notion` of privacy: epsilon at `delta` and the order it is least at, for each of its groups
    and for the one that it is largest for; `asked` counts the queries that the group's teachers voted on,
    `answered` those with any answer. A batch whose outcome or party set an interruption has hidden is counted
    as answered whole by every party; one that a blind tally charged and whose answers were lost, `lost`
    queries in all, as it was charged. `labels` has what each label of a multi-label task got, `classes` how
    often each class of another was the answer, `asked_labels` which labels were chosen where not all are
    asked about, and `unguaranteed` names the parties whose teachers learned by ttac: no figure here says what
    their records cost. Of rounds, or of runs that dependencies part, it tells what they come to.

    Raises `data.missing` or `run.mismatch` where there is no run, and `config.invalid` for a delta outside
    (0, 1).
    """
    if not 0 < delta < 1:
        raise OstrakaError(ErrorCode.CONFIG_INVALID, f"delta {delta} is not between 0 and 1: give 1e-5.")
    if is_rounds(run):
        return of_rounds(run, delta=delta)
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
