"""What a run asked, got and cost at worst; nothing in it depends on a vote beyond the released labels."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from client.answers import answered_mask, label_matrix
from client.retraining import STUDENT_FILE
from client.state import Batch, Clique, Party, RunState, load_state
from common.errors import ErrorCode, OstrakaError
from common.plan import Plan
from common.privacy import ORDERS, epsilon, worst_case

DELTA = 1e-5


def report(run: Path, *, delta: float = DELTA) -> dict[str, Any]:
    """A run's figures in JSON's types.

    `parties` has, for each, what this run's releases cost one of its records at worst: epsilon at `delta` and
    the order it is least at, for each of its groups and for the one that it is largest for; `asked` counts
    the queries that the group's teachers voted on, `answered` those with any answer. A batch whose
    outcome or party set an interruption has hidden is counted as answered whole by every party; one that a
    blind tally charged and whose answers were lost, `lost` queries in all, as it was charged. `labels` has
    what each label of a multi-label task got, and `unguaranteed` names the parties whose teachers learned by
    ttac: no figure here says what their records cost. Raises `data.missing` or `run.mismatch` where there is
    no run, and `config.invalid` for a delta outside (0, 1).
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
        "lost": state.lost(),
        "labels": _labels(state, plan),
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
    """What the party's records cost, by group, and the group that cost most."""
    batches = [batch for batch in state.batches if _may_have_cost(batch, party)]
    groups = [
        _group(group, place, sensitivity, batches, party, plan, delta)
        for place, clique in enumerate(party.cliques or [_whole(party)])
        for group, sensitivity in _sensitivities(clique, party, plan).items()
    ]
    costliest = max(groups, key=lambda group: float(group["epsilon_worst_case"]))
    abstains = [state.classes[label] for label in party.abstains]
    return {
        "site": party.site,
        "teachers": party.teachers,
        "abstains": abstains,
        **costliest,
        "groups": groups,
    }


def _group(
    group: str,
    place: int,
    sensitivity: float,
    batches: list[Batch],
    party: Party,
    plan: Plan,
    delta: float,
) -> dict[str, Any]:
    """What one group's records cost, whose teachers are the clique at `place`."""
    answers = [_answered(batch, plan)[_votes(batch, party.site, place)] for batch in batches]
    value, order = _least_epsilon(plan, [one for one in answers if len(one)], sensitivity, delta)
    return {
        "group": group,
        "asked": sum(len(answered) for answered in answers),
        "answered": sum(int(answered.any(axis=1).sum()) for answered in answers),
        "epsilon_worst_case": value,
        "order": order,
    }


def _whole(party: Party) -> Clique:
    """The one clique of a party in a run that kept none."""
    return Clique(groups={"all": 1}, teachers=party.teachers, weight=1.0)


def _sensitivities(clique: Clique, party: Party, plan: Plan) -> dict[str, float]:
    """What a person of each group changes in one query, in votes; records that vote do so once."""
    return {
        group: party.max_votes_per_person * (1 if plan.mechanism.by_record else copies) * clique.weight
        for group, copies in clique.groups.items()
    }


def _votes(batch: Batch, site: str, place: int) -> NDArray[np.bool_]:
    """On which of a batch's queries a party's clique voted; on all where no ticket was kept."""
    bits = bytes.fromhex(batch.schedule[site][place]) if batch.schedule else b""
    if not bits:
        return np.ones(len(batch.queries), np.bool_)
    return np.unpackbits(np.frombuffer(bits, np.uint8), count=len(batch.queries)).astype(np.bool_)


def _may_have_cost(batch: Batch, party: Party) -> bool:
    if batch.status == "dead" or (batch.schedule and party.site not in batch.schedule):
        return False
    return not batch.parties or party.site in batch.parties


def _answered(batch: Batch, plan: Plan) -> NDArray[np.bool_]:
    """Which of a batch's answers were charged, or may have been: (queries, answers per query)."""
    if batch.status == "open":
        return np.ones((len(batch.queries), plan.mechanism.answers(plan.classes)), np.bool_)
    if batch.status == "lost":
        return np.array(batch.charged, np.bool_)
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
