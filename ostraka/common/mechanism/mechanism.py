"""The interface of every mechanism: its ballots, noise, worst case, and number of answers."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)
from pydantic_core import CoreSchema, core_schema

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism.installed import entry_point_class, entry_point_names
from ostraka.common.privacy.filters import GAUSSIAN
from ostraka.common.privacy.gaussian import MIN_SIGMA
from ostraka.common.privacy.inputs import InputError
from ostraka.common.privacy.worst_case import WorstCase
from ostraka.common.sharing.ballots import BallotFormat
from ostraka.common.validation import place_text, problem_text

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
"""A positive finite parameter."""

INVALID_PLAN = "The plan is invalid: "
"""The beginning of every error message about a plan."""


def invalid_plan(problem: str) -> OstrakaError:
    """Return the error for an invalid plan, in one sentence."""
    return OstrakaError(ErrorCode.PLAN_INVALID, f"{INVALID_PLAN}{problem}.")


class Value(BaseModel):
    """A frozen value; invalid construction raises `plan.invalid` instead of pydantic's own error."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @model_validator(mode="wrap")
    @classmethod
    def _one_sentence(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(data)
        except ValidationError as exc:
            first = exc.errors()[0]
            where = place_text(first, data if isinstance(data, dict) else None)
            problem = problem_text(first)
            raise invalid_plan(f"{where}: {problem}" if where else problem) from exc


class Source(Protocol):
    """A source of noise, in lattice steps of 2^-16 vote."""

    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Draw Gaussian noise of `sigma` votes."""
        ...

    def laplace(self, scale: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Draw Laplace noise of `scale` votes."""
        ...


@dataclass(frozen=True)
class Draw:
    """One call of a noise source: its method, its scale in votes, its shape."""

    kind: Literal["gaussian", "laplace"]
    scale: float
    shape: tuple[int, ...]

    @classmethod
    def gaussian(cls, sigma: float, *shape: int) -> Self:
        """Return a draw of Gaussian noise of standard deviation `sigma` votes."""
        return cls("gaussian", sigma, shape)

    @classmethod
    def laplace(cls, scale: float, *shape: int) -> Self:
        """Return a draw of Laplace noise of `scale` votes."""
        return cls("laplace", scale, shape)

    @property
    def values(self) -> int:
        """Number of values that are drawn."""
        return math.prod(self.shape)

    @property
    def sigma(self) -> float:
        """Standard deviation of each number, in votes."""
        return self.scale if self.kind == "gaussian" else math.sqrt(2) * self.scale

    def of(self, source: Source) -> NDArray[np.int64]:
        """Draw the noise; int64 of `shape`, in lattice steps."""
        if self.kind == "gaussian":
            return source.gaussian(self.scale, self.shape)
        return source.laplace(self.scale, self.shape)


V = TypeVar("V", bound=Value)


@dataclass(frozen=True)
class Unit:
    """The unit of a parameter: `exponent` is 1 for votes, -1 for 1/votes."""

    exponent: int


Votes = Annotated[Positive, Unit(1)]
"""A parameter in votes, which grows with the number of teachers."""
PerVote = Annotated[Positive, Unit(-1)]
"""A parameter in 1/votes."""


class Check(Value):
    """Answer only if the votes for one side, with noise of `sigma`, reach `threshold`."""

    sigma: Votes = Field(description="Noise of the check, in votes.")
    threshold: Votes = Field(description="Votes required by the check.")


MECHANISMS: dict[str, type["Mechanism"]] = {}
"""Every mechanism by its name in plans; those of installed packages are added when they are first used."""
INSTALLED_MECHANISMS = "ostraka.mechanisms"
"""The entry-point group in which other packages register mechanisms, each under its `kind`."""


def _find_registered(data: Any) -> "Mechanism":
    """Return a field's value if it is a mechanism, else the mechanism that its `kind` and fields describe."""
    if isinstance(data, Mechanism):
        return data
    kind = data.get("kind") if isinstance(data, dict) else None
    known = known_mechanism(kind) if isinstance(kind, str) else None
    if known is None:
        raise ValueError(f"kind: choose one of {', '.join(MECHANISMS)}")
    return known.model_validate(data)


class Mechanism(Value, ABC):
    """The parameters of a mechanism and everything public about it; the guardian implements its release.

    As the type of a pydantic field it accepts any registered mechanism, selected by its `kind`.
    """

    kind: str
    """Name in plans, policies and on command lines."""

    multi_label: ClassVar[bool] = False
    """Whether an answer has one bit for each label, instead of a class."""
    by_record: ClassVar[bool] = False
    """Whether labelled records vote instead of teachers, each at most once in a batch of all queries."""
    party_setting: ClassVar[Literal["label_counts", "randomized_labels"] | None] = None
    """The setting by which a party's policy must allow the mechanism, if the party's own labels answer."""
    adjacencies: ClassVar[tuple[Literal["record", "label"], ...]] = ("record", "label")
    """The adjacencies it supports: what neighbours may differ in."""
    guaranteed: ClassVar[bool] = True
    """Whether its release has a formal guarantee."""
    takes_scores: ClassVar[bool] = False
    """Whether a release needs the probabilities of a student."""
    blind: ClassVar[bool] = False
    """Whether a garbled circuit can release it, so that no site sees the histogram."""
    labels_queries: ClassVar[bool] = True
    """Whether it answers queries with labels, from votes; other mechanisms release sums."""
    sums_records: ClassVar[bool] = False
    """Whether it releases a sum over parties' labelled records, for any public question."""
    gaussian: ClassVar[bool] = False
    """Whether this class's own `cost` is proved at `GAUSSIAN`; budgets with a Gaussian filter then pay it."""
    charged_as: ClassVar[str] = ""
    """What `cost` charges, in a few words for `ostraka mechanisms`; empty if not stated."""

    def __str__(self) -> str:
        """Return the name and parameters in one line, with the check or recipe last."""
        given = self.model_dump(exclude={"kind"}, exclude_none=True)
        given |= {f"check {name}": value for name, value in given.pop("check", {}).items()}
        given |= given.pop("recipe", {})
        return f"{self.kind}: {', '.join(f'{name} {_text(value)}' for name, value in given.items())}"

    @property
    @abstractmethod
    def ballot(self) -> BallotFormat:
        """How votes are counted."""

    @abstractmethod
    def draws(self, rows: int, classes: int) -> list[Draw]:
        """Return the noise that a release of `rows` queries draws, in order; a check's noise comes first."""

    @abstractmethod
    def cost(self, order: float, sensitivity: float, classes: int) -> WorstCase:
        """Return the worst case as in `worst_case`, for arguments that are already checked."""

    def party_draws(self, rows: int, classes: int) -> list[Draw]:
        """Return the noise that every party adds to its ballots of `rows` queries before it shares them."""
        return []

    @property
    def relied_on(self) -> int | None:
        """Number of parties whose noise makes up that of a release; None if the guardian draws it."""
        return None

    def noise_growth(self, parties: int) -> float:
        """Return the factor by which noise is wider than stated if `parties` answer: each adds its own."""
        return 1.0 if self.relied_on is None else math.sqrt(parties / self.relied_on)

    @property
    def noisy_check(self) -> Check | None:
        """The check that decides whether a query or label is answered; None if every one is."""
        return None

    @property
    def sigmas(self) -> tuple[float, ...]:
        """Standard deviations of all noise, in votes."""
        return tuple(draw.sigma for draw in self.draws(1, 2))

    @property
    def reach(self) -> float:
        """How far noise may move a count, or the difference of two counts, in votes: twelve deviations."""
        return 12 * math.sqrt(2) * max(self.sigmas, default=0.0)

    def width(self, classes: int) -> int:
        """Return the number of ring values in a ballot for one query."""
        return self.ballot.width(classes)

    def answers(self, classes: int) -> int:
        """Return the number of answers to one query: one class, or one bit for each label."""
        return classes if self.multi_label else 1

    def check_classes(self, classes: int) -> None:
        """Raise `plan.invalid` if the parameters are not valid for this number of classes or labels."""

    @property
    def released(self) -> str:
        """What one release contains, in a few words for people."""
        return "label" if self.labels_queries else "sum of updates"

    def worst_case(self, order: float, sensitivity: float = 1.0, *, classes: int) -> WorstCase:
        """Return the rdp at `order` that is valid for every histogram (docs/accounting.md).

        Args:
            order: Renyi order, or `GAUSSIAN`.
            sensitivity: what a unit can change in one query, in votes.
            classes: number of classes or labels.

        Raises:
            InputError: for an order not above 1, or a sensitivity that is not positive.
            OstrakaError: `plan.invalid` at `GAUSSIAN` for a mechanism without a proof there.
        """
        if order == GAUSSIAN and not self.has_gaussian_cost(classes):
            raise invalid_plan(
                f"nobody knows what {self.kind} with this noise costs a budget with a Gaussian filter; ask"
                " parties whose budgets have a Renyi filter, or for more noise"
            )
        if order != GAUSSIAN and not 1 < order < math.inf:
            raise InputError("order", f"must be a finite number above 1, is {order}")
        if not 0 < sensitivity < math.inf:
            raise InputError("sensitivity", f"must be a finite number above 0, is {sensitivity}")
        return self.cost(order, sensitivity, classes)

    def has_gaussian_cost(self, classes: int) -> bool:
        """Whether the cost under a Gaussian filter is proved: only for noise of a lattice step or more."""
        narrowest = min((draw.sigma for draw in self.draws(1, classes)), default=MIN_SIGMA)
        return vars(type(self)).get("gaussian", False) and narrowest >= MIN_SIGMA

    def known_error(self, teachers: int, classes: int) -> float:
        """Return the probability of a wrong label that the plan alone implies, per label or for the class.

        This is how often noise reverses the teachers' decision if as many teachers agree as the plan
        requires:
        `threshold` if there is a check, else all of them. It bounds the noise's part of the error for queries
        with that many votes. It does not cover teachers that are wrong, or a query with fewer votes that
        passes its check because of noise. It is 0 if nothing is known.

        Args:
            teachers: number of votes scheduled for a query, n.
            classes: number of classes k, or of labels.

        Own derivation; docs/students.md proves it.
        """
        return 0.0

    def narrowed(self, labels: int) -> Self:
        """Fit the mechanism to this many of its labels: lower a radius or a count that would have no effect.

        Both mechanisms count ballots of `labels` labels alike, because their norm never exceeds the lower
        radius.
        """
        return self

    def scaled(self, factor: float) -> Self:
        """Return the mechanism with noise and thresholds `factor` times as large.

        Mühl and Boenisch 2022, Appendix B.

        Only parameters in votes change. Bounds on one ballot (tau, tau1, max_positives), a student's required
        confidence, and parameters of sums over records or updates stay the same. Raises `plan.invalid` for a
        factor that is not a number above 0.
        """
        if not 0 < factor < math.inf:
            raise invalid_plan(f"its noise cannot be scaled by {factor:g}; scale it by a number above 0")
        return _scale(self, factor)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        if ABC not in cls.__bases__:
            return handler(source)
        return core_schema.no_info_plain_validator_function(
            _find_registered, serialization=core_schema.simple_ser_schema("any")
        )


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _scale(value: V, factor: float) -> V:
    changed: dict[str, Any] = {}
    for name, field in type(value).model_fields.items():
        given = getattr(value, name)
        units = [unit for unit in field.metadata if isinstance(unit, Unit)]
        if isinstance(given, Value):
            given = _scale(given, factor)
        elif units:
            given = given * factor if units[0].exponent > 0 else given / factor
        changed[name] = given
    return type(value).model_validate(changed)


def register(*known: type[Mechanism]) -> None:
    """Add mechanisms that plans may name; the guardian registers the release of each separately."""
    MECHANISMS.update({one.model_fields["kind"].default: one for one in known})


def known_mechanism(kind: str) -> type[Mechanism] | None:
    """Return the mechanism of this name, Ostraka's own or an installed package's; None if there is none.

    Raises `config.invalid` if an installed package registers something that is not a mechanism of this name.
    """
    if kind in MECHANISMS:
        return MECHANISMS[kind]
    found: type[Mechanism] | None = entry_point_class(INSTALLED_MECHANISMS, kind, Mechanism)  # type: ignore[type-abstract]
    if found is None:
        return None
    if found.model_fields["kind"].default != kind:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"{found.__module__}.{found.__name__} is installed as mechanism {kind} and calls itself "
            f"{found.model_fields['kind'].default}: mend or uninstall its package.",
        )
    register(found)
    return found


def labelling() -> dict[str, type[Mechanism]]:
    """Return the mechanisms that answer queries with labels."""
    return {kind: known for kind, known in MECHANISMS.items() if known.labels_queries}


class LabelSetMechanism(Mechanism):
    """A mechanism that answers with a set of labels, from noise of `sigma`, with an optional check."""

    multi_label: ClassVar[bool] = True

    sigma: Votes = Field(description="Noise of every count of an answer, in votes.")
    check: Check | None = None

    @property
    def noisy_check(self) -> Check | None:
        """The optional check of a plan."""
        return self.check

    def check_draws(self, *shape: int) -> list[Draw]:
        """Return the noise of the checks; empty without a check."""
        return [] if self.check is None else [Draw.gaussian(self.check.sigma, *shape)]

    def votes_asked(self, teachers: int) -> float:
        """Return the number of votes that an answer requires: the check's threshold, or all votes."""
        return teachers if self.check is None else self.check.threshold


def mechanism_names() -> list[str]:
    """Return the names of mechanisms that label queries, Ostraka's own before those of installed packages.

    Nothing is imported, so an installed mechanism may turn out not to label queries, or to be broken.
    """
    return list(dict.fromkeys((*labelling(), *entry_point_names(INSTALLED_MECHANISMS))))
