"""Command-line options that say which mechanism is planned; what each takes, `make_mechanism` says."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ostraka.common.mechanism import LABELLING
from ostraka.common.plan import VARIANT


class VariantName(StrEnum):
    """How budgets that differ are used, by the name that a plan gives it."""

    NONE = "none"
    VANISHING = "vanishing"
    WEIGHTING = "weighting"

    @property
    def planned(self) -> VARIANT:
        """The same as a plan holds it."""
        match self:
            case VariantName.VANISHING:
                return "vanishing"
            case VariantName.WEIGHTING:
                return "weighting"
        return "none"


Kind = Annotated[str, typer.Option("--mechanism", help=f"One of {', '.join(LABELLING)}.")]
Sigma = Annotated[float | None, typer.Option(help="Noise of the answer, in votes.")]
Sigma1 = Annotated[float | None, typer.Option(help="Noise of the check, in votes.")]
Sigma2 = Annotated[float | None, typer.Option(help="confident, interactive: noise of the answer, in votes.")]
Threshold = Annotated[float | None, typer.Option(help="Votes that the check asks for.")]
Confidence = Annotated[
    float | None, typer.Option(help="interactive: a student's label needs more than this.")
]
RandEpsilon = Annotated[
    float | None, typer.Option("--rand-epsilon", help="rand_res: epsilon of each label that is drawn anew.")
]
Gamma = Annotated[float | None, typer.Option(help="lnmax: Laplace noise has a scale of 1/gamma votes.")]
Radius = Annotated[float | None, typer.Option("--tau", help="tau: largest L2 norm of a ballot.")]
L1Radius = Annotated[float | None, typer.Option("--tau1", help="l1: largest L1 norm of a ballot.")]
MaxPositives = Annotated[int | None, typer.Option(help="powerset: most labels of a set.")]
Variant = Annotated[
    VariantName, typer.Option("--variant", help="Smaller budgets vote on fewer queries, or weigh less.")
]
Align = Annotated[
    bool, typer.Option(help="Scale noise and thresholds to how many votes the guardian expects.")
]
Plot = Annotated[Path | None, typer.Option("--plot", help="Draw epsilon against queries: .png or .svg.")]
Json = Annotated[str | None, typer.Option("--json", help="Write the result as JSON here; - is stdout.")]
