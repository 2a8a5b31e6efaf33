"""What a run asked, got and cost at worst; nothing in it depends on a vote beyond the released labels."""

import json
from pathlib import Path
from typing import Any

from client.retraining import STUDENT_FILE
from client.state import Batch, Party, RunState, load_state
from common.errors import ErrorCode, OstrakaError
from common.plan import Plan
from common.privacy import ORDERS, epsilon, worst_case

DELTA = 1e-5


def report(run: Path, *, delta: float = DELTA) -> dict[str, Any]:
    """A run's figures in JSON's types.

    `parties` has, for each, what this run's releases cost one of its records at worst: epsilon at `delta` and
    the order it is least at. A batch whose outcome or party set an interruption has hidden is counted as
    answered whole by every party. Raises `data.missing` or `run.mismatch` where there is no run, and
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
        "unasked": plan.queries - len(answers),
        "unsettled_batches": sum(batch.status == "open" for batch in state.batches),
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


def _party(party: Party, state: RunState, plan: Plan, delta: float) -> dict[str, Any]:
    batches = [batch for batch in state.batches if _may_have_cost(batch, party)]
    asked = sum(len(batch.queries) for batch in batches)
    answered = sum(_most_answered(batch) for batch in batches)
    value, order = _least_epsilon(plan, asked, answered, float(party.max_votes_per_person), delta)
    return {
        "site": party.site,
        "teachers": party.teachers,
        "asked": asked,
        "answered": answered,
        "epsilon_worst_case": value,
        "order": order,
    }


def _may_have_cost(batch: Batch, party: Party) -> bool:
    return batch.status != "dead" and (not batch.parties or party.site in batch.parties)


def _most_answered(batch: Batch) -> int:
    if batch.status == "open":
        return len(batch.queries)
    return sum(answer is not None for answer in batch.answers)


def _least_epsilon(
    plan: Plan, asked: int, answered: int, sensitivity: float, delta: float
) -> tuple[float, float | None]:
    if not asked:
        return 0.0, None
    costs = {order: worst_case(plan.mechanism, order, sensitivity) for order in ORDERS}
    totals = {order: asked * cost.check + answered * cost.answer for order, cost in costs.items()}
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
