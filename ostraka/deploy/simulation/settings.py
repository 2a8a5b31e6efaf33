"""Settings of a simulation: the command line's options, or a file of the same names."""

from typing import Annotated

from pydantic import ConfigDict, Field, model_validator

from ostraka.common.console.options import KEY
from ostraka.common.errors import OstrakaError
from ostraka.common.mechanism import BOUND, Mechanism, invalid_plan
from ostraka.common.mechanism.arguments import make_mechanism, split_mechanism
from ostraka.common.mechanism.mechanism import INVALID_PLAN
from ostraka.common.plan.choices import BALLOTS, TALLY
from ostraka.common.privacy import ORDERS
from ostraka.deploy.simulation.data_settings import DataSettings
from ostraka.deploy.simulation.defaults import RANDOMIZED, default_check, default_parameters
from ostraka.deploy.simulation.privacy_settings import PrivacySettings
from ostraka.deploy.simulation.schemes import check_epsilons, check_option, check_shares, level_epsilons
from ostraka.deploy.simulation.student_settings import ONE_LABEL, StudentSettings, suiting
from ostraka.deploy.simulation.teacher_settings import TeacherSettings


class Settings(StudentSettings, TeacherSettings, PrivacySettings, DataSettings):
    """One simulation, with the demo's numbers as defaults.

    ``encoding`` hides queries from parties, ``tally`` histograms from the guardian; ``ballots`` says whether
    ballots are verified.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    tally: TALLY = Field(default="aggregate", description="Tally: aggregate (default) or blind.")
    ballots: Annotated[BALLOTS | None, KEY] = Field(
        default=None, description="Ballots: verified or unverified; default verified where that is possible."
    )
    batch_size: int = Field(
        default=100,
        ge=1,
        description="Queries released together.",
    )
    quorum: Annotated[int | None, KEY] = Field(
        default=None, ge=2, description="Least number of parties released together; default a majority."
    )
    seed: int = Field(
        default=0, ge=0, description="Seed of the data split and of training; noise is never seeded."
    )

    @model_validator(mode="after")
    def _mechanism_can_be_made(self) -> "Settings":
        try:
            made = self.plan_mechanism
        except OstrakaError as error:
            raise ValueError(error.message.removeprefix(INVALID_PLAN)) from error
        clusters = made.party_setting == "label_counts"
        if self.adjacency == "label" and not clusters and self.label_dp is None:
            raise ValueError(f"adjacency label needs mechanism noise_cluster, not {self.mechanism_kind}")
        if self.adjacency == "label" and self.joint_training:
            raise ValueError(f"training {self.training} is charged to records; give adjacency record")
        if self.student == "dp-sgd" and (clusters or made.takes_scores):
            raise ValueError(
                "student dp-sgd covers labels that depend on their own record alone, "
                f"not {self.mechanism_kind}"
            )
        if clusters and self.label_dp is None and self.clusters > self.queries:
            raise ValueError(f"{self.clusters} clusters are more than the pool's {self.queries} records")
        return self

    @model_validator(mode="after")
    def _can_be_asked(self) -> "Settings":
        _check_secret_labels(self)
        _check_rounds(self)
        _check_queriers(self)
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
    def _budgets_fit(self) -> "Settings":
        check_epsilons(self.epsilons, self.sites)
        if self.epsilons is not None and (self.consent or self.variant == "upsampling"):
            raise ValueError("epsilons are of whole parties, without consent levels or variant upsampling")
        if self.consent is None:
            if self.levels is not None or self.variant == "upsampling":
                raise ValueError("levels and upsampling need consent, such as low=0.3,medium=0.5,high=0.2")
            if self.epsilons is None and self.variant != "none":
                raise ValueError(
                    "variants need budgets that differ: give consent, such as low=0.3,medium=0.5,high=0.2, "
                    "or epsilons, such as party-1=5,party-2=20"
                )
            return self
        check_shares(self.consent)
        level_epsilons(self.consent, self.levels, self.epsilon)
        if self.mechanism_kind == "noise_cluster":
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
    def round_queries(self) -> int:
        """Records that all rounds of labels ask about: half of the pool, in equal parts."""
        return max(1, self.queries // (2 * self.label_rounds)) * self.label_rounds

    def for_pool(self, pool: int) -> "Settings":
        """Return these settings for a pool of `pool` records, all asked about where parties count records."""
        counted = self.label_dp is not None and self.plan_mechanism.by_record
        return self.model_copy(update={"queries": pool}) if counted else self

    @property
    def votes(self) -> int:
        """Teachers of all parties together."""
        return self.parties * self.teachers

    @property
    def plan_mechanism(self) -> Mechanism:
        """The plan's mechanism, with defaults for parameters that were not given.

        A check that it need not have is a default only where no parameter was given.
        """
        if self.randomizes:
            kind, given = split_mechanism(self.mechanism)
            if given:
                raise invalid_plan(f"{kind} takes its epsilon from label_epsilon here; give that instead")
            return make_mechanism(kind, epsilon=self.label_epsilon)
        kind, given = split_mechanism(self.mechanism)
        check = {} if given else default_check(kind, self.votes)
        suiting = default_parameters(kind, self.votes, joint_training=self.joint_training)
        return make_mechanism(kind, **{**suiting, **check, **given})

    @property
    def mechanism_kind(self) -> str:
        """The mechanism's name, without its parameters."""
        return split_mechanism(self.mechanism)[0]

    @property
    def randomizes(self) -> bool:
        """Whether parties answer with labels of their own records, each drawn anew."""
        return self.mechanism_kind in RANDOMIZED

    @property
    def charged_bound(self) -> BOUND:
        """How costs are computed: a blind tally leaves no votes to compute them from."""
        return "worst_case" if self.tally == "blind" else self.bound

    @property
    def order(self) -> float:
        """The Renyi order that budgets are kept at; 0 as the guardian proposes, which suits Gaussian noise.

        Randomised labels cost hardly more at a large order, where an epsilon is told most exactly.
        """
        return max(ORDERS) if self.randomizes else 0.0

    @property
    def level_epsilons(self) -> dict[str, float]:
        """Epsilon of every consent level; empty where records have none."""
        return {} if self.consent is None else level_epsilons(self.consent, self.levels, self.epsilon)

    @property
    def teachers_variant(self) -> str:
        """How parties train: each for its own consent levels, and as without a variant where it has none."""
        return "none" if self.consent is None else self.variant

    def epsilon_of(self, site: str) -> float:
        """Epsilon of the budget of a party whose records have no consent levels."""
        return (self.epsilons or {}).get(site, self.epsilon)

    @property
    def batch(self) -> int:
        """The largest batch: noise_cluster releases all clusters at once, randomised are all records."""
        if self.randomizes:
            return self.queries
        return self.clusters if self.mechanism_kind == "noise_cluster" else self.batch_size


def _check_secret_labels(settings: Settings) -> None:
    several = settings.plan_mechanism.multi_label
    if several and settings.label_dp in ONE_LABEL:
        raise ValueError(
            f"label_dp {settings.label_dp} learns one label a record; for several labels choose ldp-normal, "
            "ldp-ssl or pate-fm"
        )
    wanted = suiting(settings.label_dp, several=several)
    for name, value in wanted.items():
        chosen = settings.mechanism_kind if name == "mechanism" else getattr(settings, name)
        if chosen != value:
            raise ValueError(f"label_dp {settings.label_dp} goes with {name} {value}; leave {name} out")
    by_record = settings.plan_mechanism.by_record
    if settings.label_dp == "pate-fm" and by_record:
        raise ValueError(f"label_dp pate-fm asks teachers, which do not vote by {settings.mechanism_kind}")
    if wanted and (settings.encoding, settings.consent) != ("plain", None):
        raise ValueError(f"label_dp {settings.label_dp} has no encoding ckks or consent levels")
    if wanted and by_record and settings.tally == "blind":
        raise ValueError(f"label_dp {settings.label_dp} has no tally blind")
    if settings.randomizes and settings.label_dp is None:
        raise ValueError(
            f"mechanism {settings.mechanism_kind} asks of shared records; give label_dp, such as ldp-normal"
        )


def _check_rounds(settings: Settings) -> None:
    if settings.label_rounds > 1:
        mechanism = settings.plan_mechanism
        if mechanism.takes_scores or mechanism.by_record:
            raise ValueError(
                f"label_rounds do not begin with {settings.mechanism_kind}; choose confident or gnmax"
            )


def _check_queriers(settings: Settings) -> None:
    if settings.queriers is None:
        return
    if settings.queriers > settings.parties:
        raise ValueError(f"{settings.queriers} of {settings.parties} parties cannot ask; name fewer queriers")
    others = settings.parties - 1
    if others < settings.least_parties:
        raise ValueError(
            f"{others} parties answer a querying one, and the quorum is {settings.least_parties}"
        )
    if settings.mechanism_kind == "noise_cluster":
        raise ValueError("mechanism noise_cluster asks about one pool for all; leave out queriers")
