"""Options of all plans, and of the mechanism that is planned, also as words of a command line."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, ClassVar

import typer
from pydantic import BaseModel, ConfigDict, Field

from ostraka.common.mechanism import Check, Mechanism, labelling
from ostraka.common.mechanism.arguments import CHECK, make_mechanism, option_name

Plot = Annotated[Path | None, typer.Option("--plot", help="Draw epsilon against queries: .png or .svg.")]
Json = Annotated[str | None, typer.Option("--json", help="Write the result as JSON here; - is stdout.")]


class CheckedMechanismOptions(BaseModel):
    """A mechanism by its name, with the parameters of an answer and of a check."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    PARAMETERS: ClassVar[tuple[str, ...]] = ("sigma", "sigma1", "sigma2", "threshold")
    """The fields that are parameters of mechanisms; None stands for one that was not given."""

    mechanism: str = Field(default="confident", description=f"One of {', '.join(labelling())}.")
    sigma: float | None = Field(default=None, description="Noise of the answer, in votes.")
    sigma1: float | None = Field(default=None, description="Noise of the check, in votes.")
    sigma2: float | None = Field(
        default=None, description="confident, interactive: noise of the answer, in votes."
    )
    threshold: float | None = Field(default=None, description="Votes required by the check.")

    @property
    def parameters(self) -> dict[str, float | None]:
        """Parameters as `make_mechanism` names them."""
        return {name: getattr(self, name) for name in self.PARAMETERS}

    def make(self) -> Mechanism:
        """Return the mechanism; raise `plan.invalid` as `make_mechanism` does."""
        return make_mechanism(self.mechanism, **self.parameters)


class VotingMechanismOptions(CheckedMechanismOptions):
    """A mechanism by its name, with the parameters of all mechanisms that release votes."""

    PARAMETERS: ClassVar[tuple[str, ...]] = (
        *CheckedMechanismOptions.PARAMETERS,
        *("gamma", "tau", "tau1", "max_positives", "confidence"),
    )

    gamma: float | None = Field(default=None, description="lnmax: inverse scale of Laplace noise, 1/votes.")
    tau: float | None = Field(default=None, description="tau: clip each ballot to this L2 norm.")
    tau1: float | None = Field(default=None, description="l1: clip each ballot to this L1 norm.")
    max_positives: int | None = Field(default=None, description="powerset: most positive labels in a set.")
    confidence: float | None = Field(
        default=None, description="interactive: confidence threshold for the student's own label."
    )


class MechanismOptions(VotingMechanismOptions):
    """Any mechanism that labels queries, by its name and with its parameters."""

    rand_epsilon: float | None = Field(
        default=None, description="rand_res, rand_res_labels: epsilon of what a record answers (label-DP)."
    )

    @property
    def parameters(self) -> dict[str, float | None]:
        """Parameters as `make_mechanism` names them."""
        return super().parameters | {"epsilon": self.rand_epsilon}


def mechanism_words(mechanism: Mechanism) -> list[str]:
    """Return the options from which a command line makes this mechanism."""
    words = ["--mechanism", mechanism.kind]
    for name, value in _parameters(mechanism).items():
        words += [option_name(name), f"{value:.17g}" if float(f"{value:g}") != value else f"{value:g}"]
    return words


def option_words(options: BaseModel) -> list[str]:
    """Return the options of a command line that differ from their defaults."""
    words: list[str] = []
    for name, field in type(options).model_fields.items():
        value = getattr(options, name)
        if value == field.default:
            continue
        option = option_name(name)
        words += [option] if value is True else [option, _said(value)]
    return words


def _parameters(mechanism: Mechanism) -> Mapping[str, float]:
    return dict(_named(mechanism))


def _named(mechanism: Mechanism) -> Iterator[tuple[str, float]]:
    for name in type(mechanism).model_fields:
        value = getattr(mechanism, name)
        if isinstance(value, Check):
            yield from ((option, getattr(value, field)) for option, field in CHECK.items())
        elif name != "kind" and value is not None:
            yield name, value


def _said(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
