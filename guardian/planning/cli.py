"""`ostraka guardian plan`."""

from pathlib import Path
from typing import Annotated

import typer
from pydantic import Field

from ostraka.common.cli import write_json
from ostraka.common.cli_options import model_options
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.guarantees import NOTIONS
from ostraka.common.planning import options
from ostraka.common.planning.mechanism_options import MechanismOptions


class CandidateOptions(MechanismOptions):
    """A mechanism that is considered, the federation that would ask by it, and the budget of its parties."""

    mechanism: str = Field(description=MechanismOptions.model_fields["mechanism"].description)
    classes: int = Field(ge=2, description="Classes, or labels of a multi-label task.")
    parties: int = Field(ge=1, description="Number of answering parties.")
    epsilon: float = Field(description="Epsilon of every party's budget.")
    delta: float = Field(default=1e-5, description="Delta of every party's budget.")
    teachers: int | None = Field(default=None, ge=1, description="Teachers of each party.")
    order: float | None = Field(
        default=None, ge=1.5, le=1024, description="Renyi order of the budget; default one is proposed."
    )
    queries: int | None = Field(
        default=None, ge=1, description="Queries to cost; default as many as --votes has, or 1000."
    )
    max_votes_per_person: int = Field(
        default=1, ge=1, description="What one unit can change in one query, in votes."
    )
    adjacency: str = Field(
        default="record", description="What is charged: record or label; rand_res charges labels."
    )


@model_options
def plan(
    asked: CandidateOptions,
    votes: Annotated[
        Path | None, typer.Option(help="Simulated votes, .npy or .npz: what to expect of them.")
    ] = None,
    plot: options.Plot = None,
    json: options.Json = None,
) -> None:
    """Say what labelling would cost a record of each party, and which order its budget should have."""
    from ostraka.common.planning.candidate import Candidate
    from ostraka.common.planning.plot import draw
    from ostraka.guardian.noise import OpenDpNoise
    from ostraka.guardian.planning import tables
    from ostraka.guardian.planning.plan import plan as planned_by
    from ostraka.guardian.planning.votes_file import read_votes

    chosen = asked.make()
    chosen.check_classes(asked.classes)
    charged = asked.adjacency if asked.adjacency in chosen.adjacencies else chosen.adjacencies[0]
    _check_budget(asked)
    candidate = Candidate(chosen, asked.classes, float(asked.max_votes_per_person))
    voters = None if asked.teachers is None else asked.parties * asked.teachers
    simulated = None if votes is None else read_votes(votes, candidate, voters)
    planned = planned_by(
        candidate,
        asked.epsilon,
        asked.delta,
        OpenDpNoise(),
        order=asked.order,
        queries=asked.queries,
        votes=simulated,
    )
    if plot is not None:
        at = planned.figures["budget"]["order"]
        title = f"{asked.mechanism}: epsilon ({NOTIONS[charged]}) at order {at:g}, delta {asked.delta:g}"
        draw(plot, planned.curves, [asked.epsilon], title)
    figures = planned.figures | {
        "parties": asked.parties,
        "teachers": simulated.teachers if simulated else voters,
        "adjacency": charged,
        "notion": NOTIONS[charged],
    }
    write_json(figures, json)
    if json != "-":
        tables.show(figures)


def _check_budget(asked: CandidateOptions) -> None:
    if not 0 < asked.epsilon < float("inf"):
        raise OstrakaError(ErrorCode.CONFIG_INVALID, f"--epsilon {asked.epsilon} is not above 0: give 10.")
    if not 0 < asked.delta < 1:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, f"--delta {asked.delta} is not between 0 and 1: give 1e-5."
        )
    if asked.adjacency not in NOTIONS:
        raise OstrakaError(ErrorCode.CONFIG_INVALID, "--adjacency: must be record or label.")
