"""What a simulation is asked to do: the command line's options, or a file of the same names."""

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from client.options import Adjacency
from common.errors import ErrorCode, OstrakaError
from common.mechanism import BOUND, AnyMechanism, NoiseCluster
from common.mechanism.arguments import make_mechanism
from common.plan import ENCODING, ENFORCE, TALLY
from deploy.simulation.consent import check_shares, level_epsilons, named_numbers
from deploy.simulation.defaults import (
    BY_ENCODING,
    BY_TASK,
    TOGETHER_MODEL,
    TaskKind,
    default_check,
    default_parameters,
    task_kind,
)
from deploy.simulation.schemes import Scheme, check_option

PARAMETERS = (
    "sigma",
    "sigma1",
    "sigma2",
    "threshold",
    "gamma",
    "tau",
    "tau1",
    "max_positives",
    "confidence",
)
"""Settings that are parameters of mechanisms; None stands for the mechanism's default."""

NamedNumbers = Annotated[dict[str, float], BeforeValidator(named_numbers)]
"""A table, or text like low=0.3,high=0.7."""

Head = Literal["linear", "square-mlp", "square-cnn"]
"""Kinds of teachers that answer encrypted queries."""

Training = Literal["conventional", "ttac", "dp-ttac"]
"""Whether teachers learn apart, or together with those of other parties."""


class Settings(BaseModel):
    """One simulation, with the demo's numbers as defaults.

    ``split`` says which records a party holds: ``similarity`` percent of them at random and the others
    sorted by label, a Dirichlet of ``alpha``, or ``by`` a column.
    ``queries`` is the size of the pool; noise_cluster asks for ``clusters`` of it instead of its records.
    ``consent`` shares every party's records out over consent levels, whose budgets are ``levels`` or else
    parts of ``epsilon``; ``variant`` says how budgets that differ are used. ``encoding`` hides queries from
    parties, ``tally`` histograms from the guardian; teachers that vote on encrypted queries have a ``head``,
    linear where none is named. ``training`` other than conventional has the teachers of all parties learn
    together for ``rounds`` rounds, led by the first party, at ``learning_rate``; under dp-ttac with noise of
    ``training_sigma`` on each sum.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    data: str = "digits"
    label: str = "label"
    task: TaskKind | None = None
    split: Scheme = "iid"
    similarity: float | None = Field(default=None, ge=0, le=100)
    alpha: float | None = Field(default=None, ge=1e-3, le=1e6)
    by: str | None = None
    parties: int = Field(default=5, ge=2, le=100)
    teachers: int = Field(default=10, ge=1, le=1000)
    labelled: int = Field(default=40, ge=1)
    queries: int = Field(default=300, ge=1)
    clusters: int = Field(default=30, ge=1)
    mechanism: str = "confident"
    sigma: float | None = None
    sigma1: float | None = None
    sigma2: float | None = None
    threshold: float | None = None
    gamma: float | None = None
    tau: float | None = None
    tau1: float | None = None
    max_positives: int | None = None
    confidence: float | None = None
    adjacency: Adjacency = "record"
    epsilon: float = Field(default=10.0, gt=0)
    delta: float = Field(default=1e-5, gt=0, lt=1)
    enforce: ENFORCE = "worst_case"
    bound: BOUND = "exact"
    encoding: ENCODING = "plain"
    tally: TALLY = "aggregate"
    head: Head | None = None
    consent: NamedNumbers | None = None
    levels: NamedNumbers | None = None
    variant: Literal["none", "upsampling", "vanishing", "weighting"] = "none"
    on_exhaustion: Literal["stop", "vanish"] = "stop"
    model: str | None = None
    training: Training = "conventional"
    rounds: int = Field(default=20, ge=2)
    learning_rate: float = Field(default=0.2, gt=0)
    training_sigma: float = Field(default=10.0, gt=0)
    batch_size: int = Field(default=100, ge=1)
    quorum: int | None = Field(default=None, ge=2)
    seed: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _mechanism_can_be_made(self) -> "Settings":
        try:
            made = self.plan_mechanism
        except OstrakaError as error:
            raise ValueError(error.message) from error
        clusters = isinstance(made, NoiseCluster)
        if self.adjacency == "label" and not clusters:
            raise ValueError(f"adjacency label needs mechanism noise_cluster, not {self.mechanism}")
        if self.adjacency == "label" and self.together:
            raise ValueError(f"training {self.training} is charged to records; give adjacency record")
        if clusters and self.clusters > self.queries:
            raise ValueError(f"{self.clusters} clusters are more than the pool's {self.queries} records")
        return self

    @model_validator(mode="after")
    def _confidential_as_offered(self) -> "Settings":
        if self.head is not None and self.model is not None:
            raise ValueError(f"head {self.head} and model {self.model} exclude each other; give one of them")
        if self.encoding == "ckks" and self.model is not None:
            raise ValueError(
                f"encoding ckks needs teachers with a head; give head instead of model {self.model}"
            )
        if self.tally == "blind" and self.enforce == "data_dependent":
            raise ValueError(
                "tally blind hides the votes that enforce data_dependent computes costs from; "
                "enforce worst_case"
            )
        return self

    @model_validator(mode="after")
    def _split_has_its_option(self) -> "Settings":
        check_option(self.split, {"similarity": self.similarity, "alpha": self.alpha, "by": self.by})
        return self

    @model_validator(mode="after")
    def _consent_fits(self) -> "Settings":
        if self.consent is None:
            if self.variant != "none" or self.levels is not None:
                raise ValueError("levels and variants need consent, such as low=0.3,medium=0.5,high=0.2")
            return self
        check_shares(self.consent)
        level_epsilons(self.consent, self.levels, self.epsilon)
        if self.mechanism == "noise_cluster":
            raise ValueError("noise_cluster counts records and knows no consent levels")
        return self

    @model_validator(mode="after")
    def _quorum_can_be_met(self) -> "Settings":
        if self.quorum is not None and self.quorum > self.parties:
            raise ValueError(f"quorum {self.quorum} is larger than the number of parties, {self.parties}")
        return self

    @property
    def label_columns(self) -> str | tuple[str, ...]:
        """The label column of a table, or all of them where ``label`` lists several with commas."""
        return tuple(self.label.split(",")) if "," in self.label else self.label

    @property
    def sites(self) -> tuple[str, ...]:
        """Names of the answering parties."""
        width = len(str(self.parties))
        return tuple(f"party-{number:0{width}d}" for number in range(1, self.parties + 1))

    @property
    def least_parties(self) -> int:
        """The quorum: as asked, else a majority of the parties."""
        return self.quorum or self.parties // 2 + 1

    @property
    def votes(self) -> int:
        """Teachers of all parties together."""
        return self.parties * self.teachers

    @property
    def plan_mechanism(self) -> AnyMechanism:
        """The plan's mechanism, with defaults for parameters that were not given.

        A check that it need not have is a default only where no parameter was given.
        """
        given = {name: getattr(self, name) for name in PARAMETERS if getattr(self, name) is not None}
        check = {} if given else default_check(self.mechanism, self.votes)
        suiting = default_parameters(self.mechanism, self.votes, together=self.together)
        defaults = {**suiting, **check}
        return make_mechanism(self.mechanism, **{**defaults, **given})

    @property
    def together(self) -> bool:
        """Whether teachers of several parties learn together."""
        return self.training != "conventional"

    @property
    def teachers_model(self) -> str | None:
        """The model of every teacher: as asked, else what suits training together; None as suits the data."""
        suiting = TOGETHER_MODEL if self.together and self.teachers_head is None else None
        return self.model or suiting

    @property
    def teachers_head(self) -> Head | None:
        """The head of every teacher: as asked, else linear where queries are encrypted."""
        return "linear" if self.head is None and self.encoding == "ckks" else self.head

    @property
    def charged_bound(self) -> BOUND:
        """How costs are computed: a blind tally leaves no votes to compute them from."""
        return "worst_case" if self.tally == "blind" else self.bound

    @property
    def level_epsilons(self) -> dict[str, float]:
        """Epsilon of every consent level; empty where records have none."""
        return {} if self.consent is None else level_epsilons(self.consent, self.levels, self.epsilon)

    @property
    def batch(self) -> int:
        """The largest batch: noise_cluster releases all clusters at once."""
        return self.clusters if self.mechanism == "noise_cluster" else self.batch_size


def load_settings(config: Path | None, given: dict[str, Any]) -> Settings:
    """Settings of a TOML file, overridden by the options that were ``given`` (not None).

    What neither says is as the task and the encoding need it; the task's kind is read off the data where it
    is not said either.
    Raises ``config.invalid`` naming the option or key that is off.
    """
    try:
        values = tomllib.loads(config.read_text()) if config else {}
    except OSError as error:
        raise _invalid(f"Cannot read {config}: {error.strerror}; give --config an existing file.") from error
    except tomllib.TOMLDecodeError as error:
        raise _invalid(f"{config} is not TOML: {error}; correct it.") from error
    values |= {name: value for name, value in given.items() if value is not None}
    kind = values.get("task") or task_kind(str(values.get("data", "")))
    try:
        by_encoding = BY_ENCODING.get(str(values.get("encoding")), {})
        return Settings.model_validate({**BY_TASK.get(kind, {}), **by_encoding, **values})
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"]) or "options"
        raise _invalid(
            f"Setting {name}: {first['msg'].removeprefix('Value error, ')}; correct it and simulate again."
        ) from error


def _invalid(problem: str) -> OstrakaError:
    return OstrakaError(ErrorCode.CONFIG_INVALID, problem)
