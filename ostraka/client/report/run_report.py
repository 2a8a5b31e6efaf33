"""Report of a run, of several runs on one pool, or of rounds; only released labels depend on votes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ostraka.client.describing.describing import load_description
from ostraka.client.fitting.fit_state import fit_figures, load_fit
from ostraka.client.report.costs import notion, party_costs
from ostraka.client.run.combined import Combined, is_combined, load_combined
from ostraka.client.run.rounds_state import is_rounds, load_rounds, round_folders, runs_of
from ostraka.client.session.answers import Answer, label_matrix
from ostraka.client.session.run_state import Latecomers, RunState, load_state
from ostraka.client.students.student_result import read_student
from ostraka.common.console.texts import epsilon_text, list_words
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.plan.plan import Plan


def run_figures(run: Path, delta: float | None = None) -> dict[str, Any]:
    """Return a run's figures as JSON types, see `run_report.report`; raise as that does."""
    if is_combined(run):
        combined = load_combined(run)
        student = read_student(run, combined.pool_sha256)
        return figures_of_parts(run, combined, delta=delta) | {"student": student}
    state = load_state(run)
    return _single(run, state, delta) | {"student": read_student(run, state.pool_sha256)}


def _single(run: Path, state: RunState, delta: float | None) -> dict[str, Any]:
    """Return the figures of one run of one plan."""
    plan = state.parse_plan()
    return {
        **_counts(run, plan.queries, state.by_query(), [state]),
        "by_student": len(state.by_student()),
        "labels": _answers_by_label(state, plan),
        "classes": _classes(state, plan),
        "asked_labels": [state.classes[label] for label in plan.labels],
        **_plan_and_costs([state], delta, of="this run alone"),
    }


def _counts(
    folder: Path, queries: int, answers: Mapping[int, Answer], states: Sequence[RunState]
) -> dict[str, Any]:
    """Return how many of the queries were asked and completely answered, and why the others were not."""
    answered = sum(answer is not None for answer in answers.values())
    return {
        "run": str(folder),
        "task": states[0].task,
        "queries": queries,
        "asked": len(answers),
        "answered": answered,
        "abstained": len(answers) - answered,
        "unasked": queries - len(answers),
        "unsettled_batches": sum(batch.status == "open" for state in states for batch in state.batches),
        "lost": sum(state.count_lost() for state in states),
        "stopped": next((state.stopped.model_dump() for state in states if state.stopped), None),
    }


def _plan_and_costs(states: Sequence[RunState], delta: float | None, *, of: str) -> dict[str, Any]:
    """Return the options of the first of some runs, and the cost of all of them together."""
    first = states[0]
    plan = first.parse_plan()
    return {
        "mechanism": plan.mechanism.model_dump(),
        "variant": plan.variant,
        "encoding": plan.encoding,
        "tally": plan.tally,
        "ballots": plan.ballots,
        "noise": plan.noise,
        "encoder": plan.encoder,
        "scale": first.scale,
        "quorum": plan.quorum,
        "adjacency": plan.adjacency,
        "delta": delta,
        "enforce": first.enforce,
        "bound": first.bound,
        "epsilon_is": f"worst_case, of {of}",
        "unguaranteed": sorted({site for state in states for site in state.unguaranteed}),
        "notion": notion(states),
        "latecomers": asdict(Latecomers.of(states)),
        "parties": party_costs(states, delta),
    }


def _answers_by_label(state: RunState, plan: Plan) -> list[dict[str, Any]]:
    """Return, for each label of a multi-label task, how many queries got an answer and how many a yes."""
    if not plan.multi_label:
        return []
    bits = label_matrix(list(state.answers().values()), len(state.classes))
    return [
        {"name": name, "answered": int((column >= 0).sum()), "positive": int((column == 1).sum())}
        for name, column in zip(state.classes, bits.T, strict=True)
    ]


def _classes(state: RunState, plan: Plan) -> list[dict[str, Any]]:
    """Return, for each class of a single-label task, how many queries got it as the answer."""
    if plan.multi_label:
        return []
    given = Counter(state.by_query().values())
    return [{"name": name, "answered": given[index]} for index, name in enumerate(state.classes)]


def figures_of_parts(folder: Path, combined: Combined, *, delta: float | None) -> dict[str, Any]:
    """Return the figures of all runs in a folder, as JSON types.

    Epsilons are of all runs together. `implied` counts labels that another one implies, and `labels` has the
    count per label; `parts` has each run's question.
    """
    states = list(combined.parts.values())
    whole = {row: answer for row, answer in combined.answers.items() if row not in combined.partly}
    return {
        **_counts(folder, combined.queries, whole, states),
        "by_student": 0,
        "partly": len(combined.partly),
        "implied": sum(map(len, combined.implied.values())),
        "labels": _labels(combined),
        "asked_labels": [],
        "parts": [_part(name, combined) for name in combined.parts],
        **_plan_and_costs(states, delta, of="all runs in this folder together"),
    }


def _labels(combined: Combined) -> list[dict[str, Any]]:
    """Return, for each label, how many queries got an answer, a yes, and an answer implied by its parent."""
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
    """Return one run's labels, mechanism, and number of queries."""
    state = combined.parts[name]
    plan = state.parse_plan()
    return {
        "folder": name,
        "labels": [combined.classes[label] for label in plan.labels or range(len(combined.classes))],
        "mechanism": plan.mechanism.model_dump(),
        "asked": len(state.answers()),
        "closed": state.closed,
    }


COUNTED = ("queries", "asked", "answered", "by_student")
SHOWN = ("accuracy", "balanced_accuracy", "auc", "map")


def of_rounds(folder: Path, *, delta: float | None) -> dict[str, Any]:
    """Return the figures of all rounds in a folder, as JSON types.

    Each of `rounds` has its questions and answers, the cost of all rounds up to it to the party that paid
    most, and the metrics of its student. Raises as `load_rounds` and `load_state`.
    """
    state = load_rounds(folder)
    folders = round_folders(folder, state)
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


def report(run: Path, *, delta: float | None = None) -> dict[str, Any]:
    """Return a run's figures as JSON types.

    `parties` has, for each party, the worst-case cost of this run's releases to one of its records, or one
    record's label, and the `notion` of privacy. The cost is the epsilon of the guardian's budget, with its
    delta and order (`party_costs`), for each group and for the group with the largest epsilon. `asked` counts
    the queries that the group's teachers voted on, `answered` those with any answer. If an interruption hid
    the outcome or the parties of a batch, it counts as completely answered by every party. A batch that was
    charged but whose answers were lost counts as it was charged; these are `lost` queries in all.

    `labels` has the results of each label of a multi-label task, `classes` how often each class of a
    single-label task was the answer, and `asked_labels` which labels were chosen if not all. `unguaranteed`
    has the parties whose teachers learned by ttac: no figure here covers the cost to their records. For
    rounds, or runs with dependencies, the figures are totals. For a fit they are those of `fit_figures`, for
    statistics those of `Description`, at each party's own delta.

    Raises `data.missing` or `run.mismatch` if there is no run, and `config.invalid` for a delta outside (0,
    1).
    """
    if delta is not None and not 0 < delta < 1:
        raise OstrakaError(ErrorCode.CONFIG_INVALID, f"delta {delta} is not between 0 and 1: give 1e-5.")
    if is_rounds(run):
        return of_rounds(run, delta=delta)
    fitted = load_fit(run)
    if fitted is not None:
        return fit_figures(run, fitted)
    described = load_description(run)
    if described is not None:
        return described.as_json()
    return run_figures(run, delta)


def cost_text(run: Path) -> str:
    """Return a run's worst-case cost to its parties, as the end of a sentence."""
    try:
        parties = report(run)["parties"]
    except OstrakaError:
        return "which cannot be read any more"
    costs = list_words(
        [f"{epsilon_text(party['epsilon_worst_case'])} of {party['site']}" for party in parties]
    )
    return f"at worst for epsilon {costs}" if costs else "for nothing so far"
