"""Options of active learning in rounds, stored so that an interrupted run resumes unchanged."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from ostraka.client.dependencies.label_settings import load_label_settings
from ostraka.client.run.dependency_rules import load_dependencies
from ostraka.client.run.options import PlanOptions
from ostraka.client.run.rounds_state import RoundsState, Settings, is_rounds, load_rounds, save_rounds
from ostraka.client.run.run_folder import pool_digest
from ostraka.client.students.evaluation import Features
from ostraka.client.students.trainers import Choice
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Interactive, Mechanism, invalid_plan, known_mechanism
from ostraka.common.mechanism.arguments import make_mechanism
from ostraka.common.plan.fields import TALLY
from ostraka.common.planning.options import VotingMechanismOptions
from ostraka.common.task import Task


@dataclass(frozen=True, kw_only=True)
class Rounds:
    """How a pool is asked about, and the student that learns from the answers.

    Attributes:
        count: rounds in all.
        queries: asked in each.
        first: plan of the first round; later ones differ in the mechanism alone, which is `later`.
        student: trained after every round.
        seed: of the first round's queries and of every training.
        dependencies: file of labels that imply others, by which rounds of a multi-label task ask.
        label_settings: file of labels with settings of their own, instead.
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
        """Return the plan of a round, the first being 1."""
        return self.first if number == 1 else self.first.model_copy(update={"mechanism": self.later})


def settings(rounds: Rounds) -> Settings:
    """Return what must stay the same whenever rounds continue; there may be more of them."""
    first = rounds.first
    rules = rounds.dependencies
    own = rounds.label_settings
    return {
        "queries": rounds.queries,
        "first mechanism": _described(first.mechanism),
        "later mechanism": _described(rounds.later),
        "adjacency": first.adjacency,
        "variant": first.variant,
        "encoding": first.encoding,
        "tally": first.tally,
        "ballots": first.ballots,
        "labels": None if first.labels is None else ",".join(first.labels),
        "dependencies": None if rules is None else load_dependencies(rules).model_dump_json(),
        "label settings": None if own is None else load_label_settings(own).model_dump_json(),
        "student": rounds.student.student,
        "model": rounds.student.kind,
        "steps": rounds.student.steps,
        "seed": rounds.seed,
    }


def open_rounds(folder: Path, task: Task, features: Features, chosen: Settings) -> RoundsState:
    """Open the rounds in a folder, or new ones; raise `run.mismatch` where it holds others."""
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


def _described(mechanism: Mechanism) -> str:
    return json.dumps(mechanism.model_dump(), sort_keys=True)


BEFORE_INTERACTIVE = ("confident", "gnmax")
"""Mechanisms of a first round after which later ones ask by interactive."""


class RoundsMechanismOptions(VotingMechanismOptions):
    """The mechanism of the first round, and what is different in later ones."""

    mechanism: str = Field(
        default="confident",
        description="Mechanism of the first round. Later ones ask by interactive after confident or gnmax, "
        "unless the tally is blind, and else by the same.",
    )
    later_sigma1: float | None = Field(
        default=None, description="Noise of the check in later rounds; default as --sigma1."
    )
    later_sigma2: float | None = Field(
        default=None, description="Noise of the answer in later rounds; default --sigma2, else --sigma."
    )
    later_threshold: float | None = Field(
        default=None, description="Votes required by the check in later rounds; default as --threshold."
    )
    confidence: float = Field(
        default=0.9, description="Later rounds: confidence threshold for the student's own label."
    )

    FIRST: ClassVar[tuple[str, ...]] = tuple(
        name for name in VotingMechanismOptions.PARAMETERS if name != "confidence"
    )

    def make(self) -> Mechanism:
        """Return the mechanism of the first round; raise `plan.invalid` as `make_mechanism` does."""
        known = known_mechanism(self.mechanism)
        if known is not None:
            check_rounds(known)
        return make_mechanism(self.mechanism, **self._first())

    def later(self, tally: TALLY) -> Mechanism:
        """Return the mechanism of later rounds; raise `plan.invalid` naming what is missing."""
        answer = "sigma2" if self.sigma is None else "sigma"
        changed = {
            "sigma1": self.later_sigma1,
            answer: self.later_sigma2,
            "threshold": self.later_threshold,
        }
        values = self._first() | {name: value for name, value in changed.items() if value is not None}
        if self.mechanism not in BEFORE_INTERACTIVE or tally == "blind":
            return make_mechanism(self.mechanism, **values)
        noise = {"sigma1": values["sigma1"], "sigma2": values[answer], "threshold": values["threshold"]}
        for name, value in noise.items():
            if value is None:
                raise invalid_plan(
                    f"later rounds ask by interactive, which takes {', '.join(noise)}; give --later-{name}"
                )
        return Interactive.model_validate({"confidence": self.confidence, **noise})

    def _first(self) -> dict[str, float | None]:
        return {name: getattr(self, name) for name in self.FIRST}


def check_rounds(mechanism: Mechanism | type[Mechanism]) -> None:
    """Raise `plan.invalid` for a mechanism that no first round asks by."""
    if mechanism.takes_scores:
        raise invalid_plan(
            "interactive asks a student, and before the first round there is none; begin with confident"
        )
    if mechanism.by_record:
        raise invalid_plan(
            "by this mechanism a part of the pool costs as much as all of it, so that rounds gain nothing; "
            "label it at once by `ostraka query label`"
        )
