"""Options of active learning in rounds, stored so an interrupted run resumes unchanged."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from ostraka.client.dependencies.label_settings import load_label_settings
from ostraka.client.run.dependency_rules import load_dependencies
from ostraka.client.run.options import PlanOptions
from ostraka.client.run.pool import pool_digest
from ostraka.client.run.rounds_state import RoundsState, Settings, is_rounds, load_rounds, save_rounds
from ostraka.client.students.evaluation import Features
from ostraka.client.students.trainers import Choice
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Mechanism, invalid_plan
from ostraka.common.mechanism.arguments import (
    labelling_mechanism,
    make_mechanism,
    parameter_names,
    parameters_of,
    split_mechanism,
)
from ostraka.common.mechanism.distributed_gnmax import require_distributable
from ostraka.common.task import Task


@dataclass(frozen=True, kw_only=True)
class Rounds:
    """Options of rounds on a pool, and of the student that learns from the answers.

    Attributes:
        count: number of rounds.
        queries: queries per round.
        first: plan of the first round; later rounds differ only in the mechanism, `later`.
        later: mechanism of later rounds.
        student: trained after every round.
        seed: of the first round's queries and of every training.
        dependencies: file of dependency rules that the rounds of a multi-label task use.
        label_settings: file of labels with their own settings, instead.
    """

    count: int
    queries: int
    first: PlanOptions
    later: Mechanism
    student: Choice = field(default_factory=Choice)
    seed: int = 0
    dependencies: Path | None = None
    label_settings: Path | None = None

    def options(self, number: int) -> PlanOptions:
        """Return the plan of a round; the first is number 1."""
        return self.first if number == 1 else self.first.model_copy(update={"mechanism": self.later})


def settings(rounds: Rounds) -> Settings:
    """Return the settings that must not change when rounds resume; the number of rounds may."""
    first = rounds.first
    rules = rounds.dependencies
    own = rounds.label_settings
    return {
        "queries": rounds.queries,
        "first mechanism": _describe(first.mechanism),
        "later mechanism": _describe(rounds.later),
        "adjacency": first.adjacency,
        "variant": first.variant,
        "encoding": first.encoding,
        "tally": first.tally,
        "ballots": first.ballots,
        **({} if first.noise == "guardian" else {"noise": f"parties, {first.colluders} may collude"}),
        "labels": None if first.labels is None else ",".join(first.labels),
        "dependencies": None if rules is None else load_dependencies(rules).model_dump_json(),
        "label settings": None if own is None else load_label_settings(own).model_dump_json(),
        "student": rounds.student.student,
        "model": rounds.student.kind,
        "steps": rounds.student.steps,
        "seed": rounds.seed,
    }


def open_rounds(folder: Path, task: Task, features: Features, chosen: Settings) -> RoundsState:
    """Open the rounds in a folder, or begin new ones; raise `run.mismatch` if it contains other rounds."""
    new = RoundsState(
        task=task.name,
        task_digest=task.digest.hex(),
        pool_sha256=pool_digest(features),
        pool_size=len(features),
        settings=chosen,
    )
    if not is_rounds(folder):
        save_rounds(folder, new)
        return new
    kept = load_rounds(folder)
    other = [name for name in ("task_digest", "pool_sha256") if getattr(kept, name) != getattr(new, name)]
    other += [name for name in chosen if kept.settings.get(name, chosen[name]) != chosen[name]]
    if other:
        raise OstrakaError(
            ErrorCode.RUN_MISMATCH,
            f"{folder} holds rounds with other {', '.join(other)}: repeat their options to go on, or name "
            "another --out folder.",
        )
    return kept


def _describe(mechanism: Mechanism) -> str:
    return json.dumps(mechanism.model_dump(), sort_keys=True)


BEFORE_INTERACTIVE = ("confident", "gnmax")
"""Mechanisms of a first round after which later rounds use interactive."""


CONFIDENCE = 0.9
"""Default probability above which later rounds use the student's own label: a lower one gets more labels for
the cost of their checks only, and more of them are wrong."""


def first_mechanism(text: str) -> Mechanism:
    """Return the mechanism of the first round; raise `plan.invalid` if it cannot be used there."""
    kind, parameters = split_mechanism(text)
    check_rounds(labelling_mechanism(kind))
    return make_mechanism(kind, **parameters)


def later_mechanism(asked: PlanOptions, text: str | None = None) -> Mechanism:
    """Return the mechanism of later rounds; parameters missing in `text` are the first round's.

    Default: interactive after confident and gnmax, unless the tally is blind or parties draw the noise, else
    the first one. Raises `plan.invalid` with what is missing, or does not work with that noise.
    """
    first = asked.mechanism
    histogram_is_seen = asked.tally != "blind" and asked.noise == "guardian"
    kind = "interactive" if first.kind in BEFORE_INTERACTIVE and histogram_is_seen else first.kind
    given: dict[str, str] = {}
    if text is not None:
        kind, given = split_mechanism(text)
    usual = parameters_of(first)
    if kind == "interactive":
        # GNMax has a single noise, that of the answer.
        usual = {"confidence": CONFIDENCE, "sigma2": usual.get("sigma")} | usual
    needed, optional = parameter_names(labelling_mechanism(kind))
    kept = {name: value for name, value in usual.items() if name in (*needed, *optional)}
    for name in needed:
        if text is None and kept.get(name) is None:
            raise invalid_plan(
                f"later rounds ask by {kind}, which takes {', '.join(needed)}; "
                f"give --later-mechanism {kind}:{name}=VALUE"
            )
    made = make_mechanism(kind, **kept | given)
    if asked.noise == "parties":
        # Checked before a first round is paid for that no other round could follow.
        require_distributable(made)
    return made


def check_rounds(mechanism: Mechanism | type[Mechanism]) -> None:
    """Raise `plan.invalid` for a mechanism that a first round cannot use."""
    if mechanism.takes_scores:
        raise invalid_plan(
            "interactive needs a student, and before the first round there is none; begin with confident"
        )
    if mechanism.by_record:
        raise invalid_plan(
            "with this mechanism a part of the pool costs as much as the whole pool, so that rounds gain "
            "nothing; label the whole pool by `ostraka query label`"
        )
