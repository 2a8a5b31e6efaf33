"""Settings of a simulation: the command line's options, or a file of the same names."""

from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field, ValidationError, model_validator

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import BOUND, AnyMechanism, NoiseCluster, RandRes
from ostraka.common.mechanism.arguments import make_mechanism
from ostraka.common.plan import TALLY
from ostraka.common.privacy import ORDERS
from ostraka.common.toml_files import TomlError, read_toml
from ostraka.deploy.simulation import querying_settings
from ostraka.deploy.simulation.consent import check_shares, level_epsilons
from ostraka.deploy.simulation.data_settings import DataSettings
from ostraka.deploy.simulation.defaults import (
    BY_ENCODING,
    BY_TASK,
    default_check,
    default_parameters,
    task_kind,
)
from ostraka.deploy.simulation.privacy_settings import PrivacySettings
from ostraka.deploy.simulation.schemes import check_option
from ostraka.deploy.simulation.student_settings import Learning, suiting
from ostraka.deploy.simulation.teacher_settings import Teaching


class Settings(Learning, Teaching, PrivacySettings, DataSettings):
    """One simulation, with the demo's numbers as defaults.

    ``encoding`` hides queries from parties, ``tally`` histograms from the guardian.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    tally: TALLY = Field(default="aggregate", description="aggregate or blind; default aggregate.")
    batch_size: int = Field(
        default=100,
        ge=1,
        description="Queries released together.",
    )
    quorum: int | None = Field(
        default=None, ge=2, description="Least number of parties released together; default a majority."
    )
    seed: int = Field(default=0, ge=0, description="Of data split and training, never of noise.")

    @model_validator(mode="after")
    def _mechanism_can_be_made(self) -> "Settings":
        try:
            made = self.plan_mechanism
        except OstrakaError as error:
            raise ValueError(error.message) from error
        clusters = isinstance(made, NoiseCluster)
        if self.adjacency == "label" and not clusters and self.label_dp is None:
            raise ValueError(f"adjacency label needs mechanism noise_cluster, not {self.mechanism}")
        if self.adjacency == "label" and self.together:
            raise ValueError(f"training {self.training} is charged to records; give adjacency record")
        if clusters and self.label_dp is None and self.clusters > self.queries:
            raise ValueError(f"{self.clusters} clusters are more than the pool's {self.queries} records")
        return self

    @model_validator(mode="after")
    def _can_be_asked(self) -> "Settings":
        querying_settings.check(self)
        return self

    @model_validator(mode="after")
    def _blind_tallies_have_no_votes(self) -> "Settings":
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
        """The quorum: as asked, else a majority of the parties that answer."""
        answering = self.parties if self.queriers is None else self.parties - 1
        return self.quorum or max(2, answering // 2 + 1)

    @property
    def drawn(self) -> int:
        """Records that querying parties start with, labelled or as their pools, unless pools are shared."""
        return self.labelled + (0 if self.label_dp else self.queries * (self.queriers or 1))

    @property
    def asked_in_rounds(self) -> int:
        """Records that all rounds of labels ask about: half of the pool, in equal parts."""
        return max(1, self.queries // (2 * self.label_rounds)) * self.label_rounds

    def asking(self, pool: int) -> "Settings":
        """Return these settings for a pool of `pool` records, all asked about where parties count records."""
        counted = self.label_dp is not None and self.plan_mechanism.by_record
        return self.model_copy(update={"queries": pool}) if counted else self

    @property
    def votes(self) -> int:
        """Teachers of all parties together."""
        return self.parties * self.teachers

    @property
    def plan_mechanism(self) -> AnyMechanism:
        """The plan's mechanism, with defaults for parameters that were not given.

        A check that it need not have is a default only where no parameter was given.
        """
        if self.mechanism == "rand_res":
            return RandRes(epsilon=self.label_epsilon)
        given = {name: value for name, value in self.parameters.items() if value is not None}
        check = {} if given else default_check(self.mechanism, self.votes)
        suiting = default_parameters(self.mechanism, self.votes, together=self.together)
        defaults = {**suiting, **check}
        return make_mechanism(self.mechanism, **{**defaults, **given})

    @property
    def charged_bound(self) -> BOUND:
        """How costs are computed: a blind tally leaves no votes to compute them from."""
        return "worst_case" if self.tally == "blind" else self.bound

    @property
    def order(self) -> float:
        """The Renyi order that budgets are kept at; 0 as the guardian proposes, which suits Gaussian noise.

        Randomised labels cost hardly more at a large order, where an epsilon is told most exactly.
        """
        return max(ORDERS) if self.mechanism == "rand_res" else 0.0

    @property
    def level_epsilons(self) -> dict[str, float]:
        """Epsilon of every consent level; empty where records have none."""
        return {} if self.consent is None else level_epsilons(self.consent, self.levels, self.epsilon)

    @property
    def batch(self) -> int:
        """The largest batch: noise_cluster releases all clusters at once, rand_res all records."""
        at_once = {"noise_cluster": self.clusters, "rand_res": self.queries}
        return at_once.get(self.mechanism, self.batch_size)


def load_settings(config: Path | None, given: dict[str, Any]) -> Settings:
    """Load the settings of a TOML file, overridden by the options that were ``given`` (not None).

    What neither says is as the task and the encoding need it; the task's kind is read off the data where it
    is not said either.
    Raises ``config.invalid`` naming the option or key that is off, or an option that would change nothing.
    """
    try:
        values = read_toml(config) if config else {}
    except OSError as error:
        raise _invalid(f"Cannot read {config}: {error.strerror}; give --config an existing file.") from error
    except TomlError as error:
        raise _invalid(f"{config} {error}; correct it.") from error
    options = {name: value for name, value in given.items() if value is not None}
    values |= options
    kind = values.get("task") or task_kind(str(values.get("data", "")))
    try:
        by_encoding = BY_ENCODING.get(str(values.get("encoding")), {})
        settings = Settings.model_validate(
            {**BY_TASK.get(kind, {}), **by_encoding, **suiting(values.get("label_dp")), **values}
        )
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"]) or "options"
        raise _invalid(
            f"Setting {name}: {first['msg'].removeprefix('Value error, ')}; correct it and simulate again."
        ) from error
    if unused := querying_settings.unused(settings, options):
        raise _invalid(unused)
    return settings


def _invalid(problem: str) -> OstrakaError:
    return OstrakaError(ErrorCode.CONFIG_INVALID, problem)
