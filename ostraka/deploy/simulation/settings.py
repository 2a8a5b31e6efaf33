"""Settings of a simulation: the command line's options, or a file with the same names."""

import inspect
from collections.abc import Mapping
from typing import Any, Self

from pydantic import SerializerFunctionWrapHandler, model_serializer, model_validator

from ostraka.common.console.options import flat_fields, part_models
from ostraka.common.crypto.logits import Head
from ostraka.common.errors import OstrakaError
from ostraka.common.mechanism import BOUND, Mechanism, distribute, invalid_plan
from ostraka.common.mechanism.arguments import (
    make_mechanism,
    mechanism_text,
    parameters_of,
    split_mechanism,
)
from ostraka.common.mechanism.mechanism import INVALID_PLAN
from ostraka.common.privacy import ORDERS
from ostraka.common.validation import FrozenModel
from ostraka.deploy.simulation.defaults import (
    JOINT_TRAINING_MODEL,
    default_check,
    default_parameters,
)
from ostraka.deploy.simulation.schemes import check_epsilons, check_shares, level_epsilons
from ostraka.deploy.simulation.settings_parts import (
    ONE_LABEL,
    BudgetSettings,
    PlanSettings,
    RecordSettings,
    StudentSettings,
    TeacherSettings,
    suiting,
)


class Settings(FrozenModel):
    """One simulation, with the demo's numbers as defaults.

    People write all settings side by side, in files and as arguments: `Settings(parties=3, epsilon=5)`; they
    are stored in the same way. Code reads them by part: `settings.budgets.epsilon`.
    """

    records: RecordSettings = RecordSettings()
    plan: PlanSettings = PlanSettings()
    budgets: BudgetSettings = BudgetSettings()
    teaching: TeacherSettings = TeacherSettings()
    learning: StudentSettings = StudentSettings()

    def __init__(self, **settings: Any) -> None:
        """Take settings by name; raise `ValidationError` for one that is invalid or contradicts others."""
        super().__init__(**settings)

    @model_validator(mode="before")
    @classmethod
    def _sort_into_parts(cls, settings: Any) -> Any:
        if not isinstance(settings, Mapping):
            return settings
        for part in part_models(cls):
            if part in settings:
                raise ValueError(f"{part} is not a setting but a part of them; give its settings by name")
        rest = dict(settings)
        parts = {
            part: {name: rest.pop(name) for name in model.model_fields if name in rest}
            for part, model in part_models(cls).items()
        }
        return {**{part: given for part, given in parts.items() if given}, **rest}

    @model_serializer(mode="wrap")
    def _write_flat(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written = write(self)
        parts = [written.pop(part, {}) for part in part_models(type(self))]
        return {name: value for part in (*parts, written) for name, value in part.items()}

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with these settings by name; raise `ValidationError` for an invalid one."""
        return type(self)(**{**self.model_dump(), **(update or {})})

    @model_validator(mode="after")
    def _parts_fit(self) -> "Settings":
        _check_mechanism(self)
        _check_secret_labels(self)
        _check_queriers(self)
        _check_sums(self)
        _check_plan(self)
        _check_budgets(self)
        return self

    @property
    def sites(self) -> tuple[str, ...]:
        """Names of the answering parties."""
        parties = self.records.parties
        width = len(str(parties))
        return tuple(f"party-{number:0{width}d}" for number in range(1, parties + 1))

    @property
    def least_parties(self) -> int:
        """The quorum: the given one, else a majority of the answering parties."""
        answering = self.records.parties if self.learning.queriers is None else self.records.parties - 1
        return self.plan.quorum or max(2, answering // 2 + 1)

    @property
    def drawn(self) -> int:
        """Number of records of querying parties at the start, labelled or as pools that are not shared."""
        pools = 0 if self.learning.label_dp else self.records.queries * (self.learning.queriers or 1)
        return self.records.labelled + pools

    @property
    def round_queries(self) -> int:
        """Number of records in all rounds of labels: half of the pool, in equal parts."""
        rounds = self.learning.label_rounds
        return max(1, self.records.queries // (2 * rounds)) * rounds

    def for_pool(self, pool: int) -> "Settings":
        """Return these settings for a pool of `pool` records, all asked about if parties count records."""
        counted = self.learning.label_dp is not None and self.plan_mechanism.by_record
        return self.model_copy(update={"queries": pool}) if counted else self

    @property
    def teachers(self) -> int:
        """Number of teachers of each party: 0 for a number, because nobody votes on it."""
        return 0 if self.records.task == "number" else self.teaching.teachers

    def for_labels(self, labels: int) -> "Settings":
        """Return these settings with a default radius that fits ballots of this many labels."""
        kind, given = split_mechanism(self.plan.mechanism)
        made = self.plan_mechanism
        if made.narrowed(labels) == made:
            return self
        suiting = make_mechanism(kind, **{**parameters_of(made.narrowed(labels)), **given})
        return self.model_copy(update={"mechanism": mechanism_text(suiting)})

    def of_numbers(self) -> "Settings":
        """Return these settings for records with a number each."""
        return self.model_copy(update={"task": "number"})

    @property
    def votes(self) -> int:
        """Number of teachers of all parties together."""
        return self.records.parties * self.teaching.teachers

    @property
    def plan_mechanism(self) -> Mechanism:
        """The plan's mechanism, with defaults for parameters that were not given.

        An optional check gets defaults only if no parameter was given.
        """
        kind, given = split_mechanism(self.plan.mechanism)
        if self.plan.randomizes:
            if given:
                raise invalid_plan(f"{kind} takes its epsilon from label_epsilon here; give that instead")
            return make_mechanism(kind, epsilon=self.learning.label_epsilon)
        check = {} if given else default_check(kind, self.votes)
        suiting = default_parameters(kind, self.votes, joint_training=self.teaching.joint)
        return make_mechanism(kind, **{**suiting, **check, **given})

    @property
    def charged_bound(self) -> BOUND:
        """How costs are computed: by the worst case if the guardian has no votes for it."""
        no_votes = self.plan.tally == "blind" or self.plan.noise == "parties" or self.learning.sums
        return "worst_case" if no_votes else self.budgets.bound

    @property
    def order(self) -> float:
        """The Renyi order of budgets; 0 leaves the choice to the guardian, which suits Gaussian noise.

        Randomised labels cost hardly more at a large order, where the conversion to epsilon is most exact.
        """
        return max(ORDERS) if self.plan.randomizes else 0.0

    @property
    def teachers_model(self) -> str | None:
        """Every teacher's model: the given one, else the default of joint training; None suits the data."""
        suiting = JOINT_TRAINING_MODEL if self.teaching.joint and self.teachers_head is None else None
        return self.teaching.model or suiting

    @property
    def teachers_head(self) -> Head | None:
        """The head of every teacher: the given one, else linear if queries are encrypted."""
        head = self.teaching.head
        return "linear" if head is None and self.plan.encoding == "ckks" else head

    @property
    def teachers_variant(self) -> str:
        """How parties train: each for its own consent levels, and without a variant if it has none."""
        return "none" if self.budgets.consent is None else self.plan.variant

    @property
    def batch(self) -> int:
        """The largest batch: all clusters under noise_cluster, and all records if they are randomised."""
        if self.plan.randomizes:
            return self.records.queries
        return self.records.clusters if self.plan.kind == "noise_cluster" else self.plan.batch_size


Settings.__signature__ = inspect.Signature(
    [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=field.default)
        for name, field in flat_fields(Settings).items()
    ]
)  # the constructor's signature in notebooks: all settings by name, which it takes as `**settings`


def _check_mechanism(settings: Settings) -> None:
    try:
        made = settings.plan_mechanism
    except OstrakaError as error:
        raise ValueError(error.message.removeprefix(INVALID_PLAN)) from error
    records = settings.records
    kind = settings.plan.kind
    clusters = made.party_setting == "label_counts"
    shared = settings.learning.label_dp is not None
    if settings.plan.adjacency == "label" and not clusters and not shared:
        raise ValueError(f"adjacency label needs mechanism noise_cluster, not {kind}")
    if settings.plan.adjacency == "label" and settings.teaching.joint:
        training = settings.teaching.training
        raise ValueError(f"training {training} is charged to records; give adjacency record")
    if settings.learning.student == "dp-sgd" and (clusters or made.takes_scores):
        raise ValueError(f"student dp-sgd covers labels that depend on their own record alone, not {kind}")
    if clusters and not shared and records.clusters > records.queries:
        raise ValueError(f"{records.clusters} clusters are more than the pool's {records.queries} records")
    if settings.learning.label_rounds > 1 and (made.takes_scores or made.by_record):
        raise ValueError(f"label_rounds do not begin with {kind}; choose confident or gnmax")


def _check_plan(settings: Settings) -> None:
    records = settings.records
    plan = settings.plan
    model = settings.teaching.model
    if plan.encoding == "ckks" and model is not None:
        raise ValueError(f"encoding ckks needs teachers with a head; give head instead of model {model}")
    if plan.tally == "blind" and settings.budgets.enforce == "data_dependent":
        raise ValueError(
            "tally blind hides the votes that enforce data_dependent computes costs from; enforce worst_case"
        )
    _check_noise(settings)
    if plan.quorum is not None and plan.quorum > records.parties:
        raise ValueError(f"quorum {plan.quorum} is larger than the number of parties, {records.parties}")


def _check_noise(settings: Settings) -> None:
    plan = settings.plan
    if plan.noise == "guardian":
        if plan.colluders:
            raise ValueError("colluders go with noise parties; give both or neither")
        return
    try:
        distribute(settings.plan_mechanism, settings.least_parties, plan.colluders)
    except OstrakaError as error:
        raise ValueError(error.message.removeprefix(INVALID_PLAN)) from error
    if settings.budgets.enforce == "data_dependent":
        raise ValueError(
            "noise parties hides the votes that enforce data_dependent computes costs from; choose worst_case"
        )


def _check_budgets(settings: Settings) -> None:
    budgets = settings.budgets
    variant = settings.plan.variant
    check_epsilons(budgets.epsilons, settings.sites)
    if budgets.epsilons is not None and (budgets.consent or variant == "upsampling"):
        raise ValueError("epsilons are of whole parties, without consent levels or variant upsampling")
    if budgets.consent is not None:
        check_shares(budgets.consent)
        level_epsilons(budgets.consent, budgets.levels, budgets.epsilon)
        if settings.plan.kind == "noise_cluster":
            raise ValueError("noise_cluster counts records and knows no consent levels")
    elif budgets.levels is not None or variant == "upsampling":
        raise ValueError("levels and upsampling need consent, such as low=0.3,medium=0.5,high=0.2")
    elif budgets.epsilons is None and variant != "none":
        raise ValueError(
            "variants need budgets that differ: give consent, such as low=0.3,medium=0.5,high=0.2, "
            "or epsilons, such as party-1=5,party-2=20"
        )


def _check_secret_labels(settings: Settings) -> None:
    label_dp = settings.learning.label_dp
    plan = settings.plan
    several = settings.plan_mechanism.multi_label
    if several and label_dp in ONE_LABEL:
        raise ValueError(
            f"label_dp {label_dp} learns one label a record; for several labels choose ldp-normal, "
            "ldp-ssl or pate-fm"
        )
    wanted = suiting(label_dp, several=several)
    for name, value in wanted.items():
        chosen = plan.kind if name == "mechanism" else getattr(plan, name)
        if chosen != value:
            raise ValueError(f"label_dp {label_dp} goes with {name} {value}; leave {name} out")
    by_record = settings.plan_mechanism.by_record
    if label_dp == "pate-fm" and by_record:
        raise ValueError(f"label_dp pate-fm asks teachers, which do not vote by {plan.kind}")
    if wanted and (plan.encoding, settings.budgets.consent) != ("plain", None):
        raise ValueError(f"label_dp {label_dp} has no encoding ckks or consent levels")
    if wanted and by_record and plan.tally == "blind":
        raise ValueError(f"label_dp {label_dp} has no tally blind")
    if plan.randomizes and label_dp is None:
        raise ValueError(f"mechanism {plan.kind} asks of shared records; give label_dp, such as ldp-normal")


def _check_sums(settings: Settings) -> None:
    if not settings.learning.sums:
        return
    learn = settings.learning.learn
    fixed = {
        "encoding": (settings.plan.encoding, "plain"),
        "tally": (settings.plan.tally, "aggregate"),
        "adjacency": (settings.plan.adjacency, "record"),
        "training": (settings.teaching.training, "conventional"),
        "enforce": (settings.budgets.enforce, "worst_case"),
    }
    for name, (chosen, only) in fixed.items():
        if chosen != only:
            raise ValueError(f"learn {learn} goes with {name} {only}, not {chosen}")
    if settings.plan.variant == "upsampling":
        raise ValueError(f"variant upsampling is of votes; with learn {learn} choose vanishing or weighting")


def _check_queriers(settings: Settings) -> None:
    queriers = settings.learning.queriers
    if queriers is None:
        return
    parties = settings.records.parties
    if queriers > parties:
        raise ValueError(f"{queriers} of {parties} parties cannot ask; name fewer queriers")
    others = parties - 1
    if others < settings.least_parties:
        raise ValueError(
            f"{others} parties answer a querying one, and the quorum is {settings.least_parties}"
        )
    if settings.plan.kind == "noise_cluster":
        raise ValueError("mechanism noise_cluster asks about one pool for all; leave out queriers")
