"""`ostraka guardian plan`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from pydantic import Field

from ostraka.common.console.cli import write_json
from ostraka.common.console.options import SettingsFile, model_options
from ostraka.common.console.screen import Screen
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.planning import options
from ostraka.common.planning.search.search_options import SearchOptions
from ostraka.common.privacy import ORDERS
from ostraka.common.privacy.filters import GAUSSIAN, filter_text
from ostraka.common.privacy.guarantees import BOUND, DELTA, NOTIONS
from ostraka.common.validation import FrozenModel

if TYPE_CHECKING:
    from ostraka.common.mechanism import RecordSums


class CandidateOptions(FrozenModel):
    """The federation that asks, and the budget of its parties."""

    classes: int | None = Field(
        default=None,
        ge=2,
        description="Number of classes, or of labels in a multi-label task; not needed for sums.",
    )
    parties: int = Field(ge=1, description="Number of answering parties.")
    epsilon: float = Field(description="Epsilon of every party's budget.")
    delta: float = Field(default=DELTA, description="Delta of every party's budget.")
    teachers: int | None = Field(default=None, ge=1, description="Teachers of each party.")
    order: float | None = Field(
        default=None, ge=1.5, le=1024, description="Renyi order of the budget. Default: a proposed one."
    )
    filter: Literal["renyi", "gaussian"] | None = Field(
        default=None,
        description="Privacy filter of the budget. Default: a proposed one; with --search: renyi.",
    )
    queries: int | None = Field(
        default=None,
        ge=1,
        description="Number of queries. Default: as many as in --votes, else 1000; for sums 1.",
    )
    max_votes_per_person: int = Field(
        default=1,
        ge=1,
        description="Votes that one unit can change in a query, or records that it has in a sum.",
    )
    adjacency: str = Field(
        default="record",
        description="Unit of privacy: record or label; rand_res and rand_res_labels charge labels.",
    )
    bound: BOUND = Field(
        default="worst_case",
        description="With --search: bound by which budgets are charged; theorem6 and exact need --votes.",
    )

    @property
    def orders(self) -> Sequence[float]:
        """The orders, or `GAUSSIAN`, that the budget may have."""
        if self.order is not None:
            return (self.order,)
        return {"renyi": ORDERS, "gaussian": (GAUSSIAN,), None: (*ORDERS, GAUSSIAN)}[self.filter]

    @property
    def labels(self) -> int:
        """Classes, or labels, of a task that is voted on; raises `config.invalid` if unknown."""
        if self.classes is None:
            raise OstrakaError(ErrorCode.CONFIG_INVALID, "The number of classes is missing: give --classes.")
        return self.classes

    @property
    def voters(self) -> int | None:
        """Number of teachers of all parties, if known."""
        return None if self.teachers is None else self.parties * self.teachers


@model_options
def plan(
    asked: CandidateOptions,
    mechanism: options.SearchedMechanism = None,
    *,
    searched: SearchOptions,
    votes: Annotated[
        Path | None,
        typer.Option(help="Simulated votes (.npy or .npz) from which answers and costs are predicted."),
    ] = None,
    settings: SettingsFile = None,
    plot: options.Plot = None,
    json: options.Json = None,
) -> None:
    """Predict the privacy cost of labels or sums for each party, and propose the order of its budget.

    With --search, find the mechanism, noise and order that give the most correct labels."""
    searched.check()
    _check_budget(asked)
    if searched.search:
        _search(asked, options.kind_to_search(mechanism), searched, votes, plot, json)
    else:
        _plan(asked, mechanism, votes, plot, json)


def _plan(
    asked: CandidateOptions, mechanism: str | None, votes: Path | None, plot: Path | None, json: str | None
) -> None:
    """Plan one mechanism."""
    from ostraka.common.mechanism.arguments import read_mechanism, read_sums
    from ostraka.common.planning.candidate import Candidate
    from ostraka.common.planning.plot import draw
    from ostraka.guardian.noise import ExactNoise
    from ostraka.guardian.planning import tables
    from ostraka.guardian.planning.plan import plan as planned_by
    from ostraka.guardian.planning.votes_file import read_votes

    if asked.bound != "worst_case":
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, "--bound is for a search: a plan with --votes shows every bound."
        )
    if mechanism is None:
        raise options.missing_mechanism()
    sums = read_sums(mechanism)
    if sums is not None:
        _plan_sums(asked, sums, votes, plot, json)
        return
    chosen = read_mechanism(mechanism)
    chosen.check_classes(asked.labels)
    charged = asked.adjacency if asked.adjacency in chosen.adjacencies else chosen.adjacencies[0]
    candidate = Candidate(chosen, asked.labels, float(asked.max_votes_per_person))
    simulated = None if votes is None else read_votes(votes, candidate, asked.voters)
    planned = planned_by(
        candidate,
        asked.epsilon,
        asked.delta,
        ExactNoise,
        orders=asked.orders,
        queries=asked.queries,
        votes=simulated,
    )
    if plot is not None:
        at = planned.figures["budget"]["order"]
        title = f"{chosen.kind}: epsilon ({NOTIONS[charged]}), {filter_text(at)}, delta {asked.delta:g}"
        draw(plot, planned.curves, [asked.epsilon], title)
    figures = planned.figures | {
        "parties": asked.parties,
        "teachers": simulated.teachers if simulated else asked.voters,
        "noise_growth": chosen.noise_growth(asked.parties),
        "adjacency": charged,
        "notion": NOTIONS[charged],
    }
    write_json(figures, json)
    if json != "-":
        tables.show(figures)


def _plan_sums(
    asked: CandidateOptions, sums: "RecordSums", votes: Path | None, plot: Path | None, json: str | None
) -> None:
    """Plan sums over records, for epsilons up to the budget's."""
    from ostraka.common.planning.plot import draw
    from ostraka.guardian.planning.sums import plan_sums, show

    if votes is not None or asked.teachers is not None:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, f"--votes and --teachers are of votes, and {sums.kind} sums records."
        )
    persons = float(asked.max_votes_per_person)
    planned = plan_sums(sums, asked.epsilon, asked.delta, asked.orders, asked.queries or 1, persons)
    notion = NOTIONS[asked.adjacency]
    if plot is not None:
        title = f"{sums.kind}: epsilon ({notion}), {filter_text(planned.figures['budget']['order'])}"
        draw(plot, planned.curves, [asked.epsilon], f"{title}, delta {asked.delta:g}", counted="sums")
    figures = planned.figures | {"parties": asked.parties, "adjacency": asked.adjacency, "notion": notion}
    write_json(figures, json)
    if json != "-":
        show(figures)


def _search(
    asked: CandidateOptions,
    kind: str | None,
    searched: SearchOptions,
    votes: Path | None,
    plot: Path | None,
    json: str | None,
) -> None:
    """Find the best mechanism."""
    from ostraka.common.planning.search.allowance import NewBudget
    from ostraka.common.planning.search.result import show
    from ostraka.common.telemetry import progress
    from ostraka.guardian.planning.searching import Wanted, search

    orders = asked.orders if asked.filter or asked.order else ORDERS
    budget = NewBudget(asked.epsilon, asked.delta, float(asked.max_votes_per_person), orders)
    wanted = Wanted(
        budget=budget,
        classes=asked.labels,
        teachers=asked.voters,
        queries=asked.queries,
        kind=kind,
        bound=asked.bound,
        adjacency=asked.adjacency,
    )
    with progress() as display:
        bar = display.add_task("settings", total=None)
        found = search(
            wanted,
            searched,
            votes,
            plot,
            lambda done, total: display.update(bar, completed=done, total=total),
        )
    write_json(found, json)
    if json != "-":
        screen = Screen()
        show(found, screen)
        screen.print(found["advice"], soft_wrap=True)


def _check_budget(asked: CandidateOptions) -> None:
    if not 0 < asked.epsilon < float("inf"):
        raise OstrakaError(ErrorCode.CONFIG_INVALID, f"--epsilon {asked.epsilon} is not above 0: give 10.")
    if not 0 < asked.delta < 1:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, f"--delta {asked.delta} is not between 0 and 1: give 1e-5."
        )
    if asked.filter == "gaussian" and asked.order is not None:
        raise OstrakaError(ErrorCode.CONFIG_INVALID, "A Gaussian filter has no order: name one of them.")
    if asked.adjacency not in NOTIONS:
        raise OstrakaError(ErrorCode.CONFIG_INVALID, "--adjacency: must be record or label.")
