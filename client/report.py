"""What a run asked, got and cost at worst; nothing in it depends on a vote beyond the released labels."""

import json
from pathlib import Path
from typing import Any

from client.answers import label_matrix
from client.costs import notion, party_costs
from client.dependencies.combined import combined_answers, is_combined
from client.dependencies.reporting import report as several
from client.retraining import STUDENT_FILE
from client.state import RunState, load_state
from common.errors import ErrorCode, OstrakaError
from common.plan import Plan

DELTA = 1e-5


def report(run: Path, *, delta: float = DELTA) -> dict[str, Any]:
    """A run's figures in JSON's types.

    `parties` has, for each, what this run's releases cost one of its records, or one record's label, at worst
    and by which `notion` of privacy: epsilon at `delta` and the order it is least at, for each of its groups
    and for the one that it is largest for; `asked` counts the queries that the group's teachers voted on,
    `answered` those with any answer. A batch whose
    outcome or party set an interruption has hidden is counted as answered whole by every party; one that a
    blind tally charged and whose answers were lost, `lost` queries in all, as it was charged. `labels` has
    what each label of a multi-label task got, `asked_labels` which of them were chosen where not all are
    asked about, and `unguaranteed` names the parties whose teachers learned by
    ttac: no figure here says what their records cost. Raises `data.missing` or `run.mismatch` where there is
    no run, and `config.invalid` for a delta outside (0, 1).
    """
    if not 0 < delta < 1:
        raise OstrakaError(ErrorCode.CONFIG_INVALID, f"delta {delta} is not between 0 and 1: give 1e-5.")
    if is_combined(run):
        together = combined_answers(run)
        student = read_student(run, together.pool_sha256)
        return several(run, together, delta=delta) | {"student": student}
    state = load_state(run)
    plan = state.parsed_plan()
    answers = state.by_query()
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
        "student": read_student(run, state.pool_sha256),
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


def read_student(run: Path, pool_sha256: str) -> dict[str, Any] | None:
    """What `retrain` wrote into a run's folder, None where it did not.

    Raises `run.mismatch` where it cannot be read, or tells of a student of another pool.
    """
    path = run / STUDENT_FILE
    try:
        student: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        trained_on = student["pool_sha256"]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as exc:
        raise _stale(path, "cannot be read") from exc
    if trained_on != pool_sha256:
        raise _stale(path, "tells of a student of another pool")
    return student


def _stale(path: Path, problem: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.RUN_MISMATCH, f"{path} {problem}: run `ostraka query retrain` on this run again."
    )
