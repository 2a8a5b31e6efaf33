"""What a run asked, got and cost at worst; nothing in it depends on a vote beyond the released labels."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from client.answers import answered_mask, label_matrix
from client.retraining import STUDENT_FILE
from client.state import Batch, Party, RunState, load_state
from common.errors import ErrorCode, OstrakaError
from common.plan import Plan
from common.privacy import ORDERS, epsilon, worst_case

DELTA = 1e-5


def report(run: Path, *, delta: float = DELTA) -> dict[str, Any]:
    """A run's figures in JSON's types.

    `parties` has, for each, what this run's releases cost one of its records at worst: epsilon at `delta` and
    the order it is least at; its `answered` counts queries with any answer. A batch whose outcome or party
    set an interruption has hidden is counted as answered whole by every party. `labels` has what each label
    of a multi-label task got. Raises `data.missing` or `run.mismatch` where there is no run, and
    `config.invalid` for a delta outside (0, 1).
    """
    if not 0 < delta < 1:
        raise OstrakaError(ErrorCode.CONFIG_INVALID, f"delta {delta} is not between 0 and 1: give 1e-5.")
    state = load_state(run)
    plan = state.parsed_plan()
    answers = state.answers()
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
        "labels": _labels(state, plan),
        "stopped": state.stopped.model_dump() if state.stopped else None,
        "mechanism": plan.mechanism.model_dump(),
        "quorum": plan.quorum,
        "adjacency": plan.adjacency,
        "delta": delta,
        "enforce": state.enforce,
        "bound": state.bound,
        "epsilon_is": "worst_case, of this run alone",
        "parties": [_party(party, state, plan, delta) for party in state.parties],
        "student": _student(run),
    }


def _labels(state: RunState, plan: Plan) -> list[dict[str, Any]]:
    """Of each label of a multi-label task, how many queries got an answer and how many a positive one."""
    if not plan.multi_label:
        return []
    bits = label_matrix(list(state.answers().values()), plan.classes)
    return [
        {"name": name, "answered": int((column >= 0).sum()), "positive": int((column == 1).sum())}
        for name, column in zip(state.classes, bits.T, strict=True)
    ]


def _party(party: Party, state: RunState, plan: Plan, delta: float) -> dict[str, Any]:
    batches = [_answered(batch, plan) for batch in state.batches if _may_have_cost(batch, party)]
    value, order = _least_epsilon(plan, batches, float(party.max_votes_per_person), delta)
    return {
        "site": party.site,
        "teachers": party.teachers,
        "asked": sum(len(answered) for answered in batches),
        "answered": sum(int(answered.any(axis=1).sum()) for answered in batches),
        "epsilon_worst_case": value,
        "order": order,
    }


def _may_have_cost(batch: Batch, party: Party) -> bool:
    return batch.status != "dead" and (not batch.parties or party.site in batch.parties)


def _answered(batch: Batch, plan: Plan) -> NDArray[np.bool_]:
    """Which of a batch's answers were given, or may have been: (queries, answers per query)."""
    if batch.status == "open":
        return np.ones((len(batch.queries), plan.mechanism.answers(plan.classes)), np.bool_)
    return answered_mask(batch.answers, plan)


def _least_epsilon(
    plan: Plan, batches: list[NDArray[np.bool_]], sensitivity: float, delta: float
) -> tuple[float, float | None]:
    if not batches:
        return 0.0, None
    costs = {order: worst_case(plan.mechanism, order, sensitivity, classes=plan.classes) for order in ORDERS}
    totals = {order: math.fsum(cost.rdp(answered) for answered in batches) for order, cost in costs.items()}
    return min((epsilon(total, order, delta), order) for order, total in totals.items())


def _student(run: Path) -> dict[str, Any] | None:
    path = run / STUDENT_FILE
    try:
        student: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as exc:
        raise OstrakaError(
            ErrorCode.RUN_MISMATCH, f"{path} cannot be read: run `ostraka query retrain` again."
        ) from exc
    return student
