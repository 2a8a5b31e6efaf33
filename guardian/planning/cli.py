"""`ostraka guardian plan`."""

from pathlib import Path
from typing import Annotated

import typer

from ostraka.common.cli import write_json
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.guarantees import NOTIONS
from ostraka.common.planning import options


def plan(
    mechanism: options.Kind,
    classes: Annotated[int, typer.Option(min=2, help="Classes, or labels of a multi-label task.")],
    parties: Annotated[int, typer.Option(min=1, help="Answering parties.")],
    epsilon: Annotated[float, typer.Option(help="Every party's budget.")],
    delta: Annotated[float, typer.Option(help="Every party's delta.")] = 1e-5,
    teachers: Annotated[int | None, typer.Option(min=1, help="Teachers of each party.")] = None,
    order: Annotated[
        float | None, typer.Option(min=1.5, max=1024, help="Renyi order of the budget; proposed.")
    ] = None,
    queries: Annotated[int | None, typer.Option(min=1, help="Queries to cost; the votes', or 1000.")] = None,
    max_votes_per_person: Annotated[
        int, typer.Option(min=1, help="What one unit can change in one query, in votes.")
    ] = 1,
    sigma: options.Sigma = None,
    sigma1: options.Sigma1 = None,
    sigma2: options.Sigma2 = None,
    threshold: options.Threshold = None,
    confidence: options.Confidence = None,
    gamma: options.Gamma = None,
    tau: options.Radius = None,
    tau1: options.L1Radius = None,
    max_positives: options.MaxPositives = None,
    rand_epsilon: options.RandEpsilon = None,
    adjacency: Annotated[
        str, typer.Option(help="What is charged: record or label; rand_res charges labels.")
    ] = "record",
    votes: Annotated[
        Path | None, typer.Option(help="Simulated votes, .npy or .npz: what to expect of them.")
    ] = None,
    plot: options.Plot = None,
    json: options.Json = None,
) -> None:
    """Say what labelling would cost a record of each party, and which order its budget should have."""
    from ostraka.common.mechanism import RandRes
    from ostraka.common.mechanism.arguments import make_mechanism
    from ostraka.common.planning.candidate import Candidate
    from ostraka.common.planning.plot import draw
    from ostraka.guardian.noise import OpenDpNoise
    from ostraka.guardian.planning import tables
    from ostraka.guardian.planning.plan import plan as planned_by
    from ostraka.guardian.planning.votes_file import read_votes

    chosen = make_mechanism(
        mechanism,
        sigma=sigma,
        sigma1=sigma1,
        sigma2=sigma2,
        threshold=threshold,
        confidence=confidence,
        gamma=gamma,
        tau=tau,
        tau1=tau1,
        max_positives=max_positives,
        epsilon=rand_epsilon,
    )
    chosen.check_classes(classes)
    charged = "label" if isinstance(chosen, RandRes) else adjacency
    _check_budget(epsilon, delta, adjacency)
    candidate = Candidate(chosen, classes, float(max_votes_per_person))
    voters = None if teachers is None else parties * teachers
    simulated = None if votes is None else read_votes(votes, candidate, voters)
    planned = planned_by(
        candidate, epsilon, delta, OpenDpNoise(), order=order, queries=queries, votes=simulated
    )
    if plot is not None:
        at = planned.figures["budget"]["order"]
        title = f"{mechanism}: epsilon ({NOTIONS[charged]}) at order {at:g}, delta {delta:g}"
        draw(plot, planned.curves, [epsilon], title)
    figures = planned.figures | {
        "parties": parties,
        "teachers": simulated.teachers if simulated else voters,
        "adjacency": charged,
        "notion": NOTIONS[charged],
    }
    write_json(figures, json)
    if json != "-":
        tables.show(figures)


def _check_budget(epsilon: float, delta: float, adjacency: str) -> None:
    if not 0 < epsilon < float("inf"):
        raise OstrakaError(ErrorCode.CONFIG_INVALID, f"epsilon {epsilon} is not above 0: give 10.")
    if not 0 < delta < 1:
        raise OstrakaError(ErrorCode.CONFIG_INVALID, f"delta {delta} is not between 0 and 1: give 1e-5.")
    if adjacency not in NOTIONS:
        raise OstrakaError(ErrorCode.CONFIG_INVALID, "--adjacency: must be record or label.")
