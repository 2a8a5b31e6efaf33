"""The federation's policy, which the guardian applies to every session."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from ostraka.common.config import load_section
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.toml import TomlError, parse_toml
from ostraka.common.mechanism import BOUND, Mechanism
from ostraka.common.mechanism.allowed import allows, require_known
from ostraka.common.plan.choices import ENFORCE
from ostraka.common.plan.encodings import PLAIN_ALONE, Encodings
from ostraka.common.plan.plan import Plan
from ostraka.common.validation import place_text, problem_text

DAY_S = 24 * 3600.0
SHARE_BYTES = 2**31
"""Approximate limit on the shares of sums that a guardian holds for one querying party's open batches."""
LARGE_BATCHES = 2
"""Number of batches with larger shares that it may have open all the same: one belongs to a run that died."""
Seconds = Annotated[float, Field(gt=0, le=366 * DAY_S, allow_inf_nan=False)]
MIN_DELTA = 1e-100
"""Smallest delta of a budget, far above the numbers at which conversions lose their digits."""
MIN_EPSILON = 1e-12
"""Smallest epsilon of a budget: no answer costs so little, and an amount in parts of it is a number."""
Epsilon = Annotated[float, Field(ge=MIN_EPSILON, le=1e6, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, lt=2**32)]
Level = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,31}$")]
DAY_MS = 24 * 3600 * 1000
SHARE_S = 0.01
"""How much longer a batch waits per party of its plan: the parties' shares arrive one after the other."""
SLOW = 4
"""How many times as long batches may take in which parties compute for minutes."""


def _default_bound(given: dict[str, Any]) -> BOUND:
    return "exact" if given.get("enforce") == "data_dependent" else "worst_case"


class Policy(BaseModel):
    """Limits on sessions, read from TOML: what was applied last, else `[policy]` of the guardian's site.toml.

    Attributes:
        enforce: which costs stop a session, "worst_case" or "data_dependent". With the latter, stops and
            their times reveal votes; a guardian serves it only if it was started to.
        bound: how data-dependent costs are computed: "theorem6", "exact", or not at all ("worst_case"). The
            default is "exact" if budgets enforce data-dependent costs, else "worst_case". Under worst-case
            enforcement these costs appear only in the confidential report. Blind tallies and trainings are
            always charged the worst case.
        on_exhaustion: whether a session stops when a unit's budget runs out ("stop"), or goes on without that
            unit's votes ("vanish").
        consent: epsilon of each consent level.
        delta: delta of budgets that name none.
        renewal_days: number of days after which a budget starts anew; none: never.
        admission: which parties may answer: all with a certificate ("certified"), or only those that an
            administrator added ("added").
        mechanisms: mechanisms that plans may name; "votes" means all mechanisms that label queries, "sums"
            all that release sums over records. None: votes and joint training, but not ttac, which has no
            formal guarantee. Teachers that were trained by ttac may vote only if ttac is listed.
        encodings: encodings of queries that plans may name: "plain", "ckks" (encrypted, to heads `linear` and
            `square`) and "ckks-square" (encrypted, to heads `square-mlp` and `square-cnn`). A querying party
            that may send "ckks-square" is trusted with the models.
        ballots: ballots that plans may ask for: "any", or only "verified" ballots.
        min_quorum: smallest quorum that a plan may ask for: the fewest parties whose ballots are released
            together.
        min_sigma: smallest noise scale that a plan may ask for, in votes, or in clipping norms of updates.
            ttac has no noise.
        max_batch: largest number of queries in a batch.
        max_queries: largest number of queries in a session.
        max_queries_per_day: largest number of queries that a querying party may ask in 24 hours; none: any
            number.
        grant_ttl_s: how long a grant is valid, in seconds.
        allowed_skew_s: largest accepted difference between the clocks of two sites, in seconds.
        freeze_after_s: how long a batch waits for missing shares, in seconds; 10 ms are added for each party.
        ticket_ttl_s: time in seconds after which an unfrozen batch is dead, and again after which a frozen
            batch that was not released is dead. Four times this value for encrypted queries and for rounds of
            a training.
        max_open_batches: largest number of batches for which a querying party may hold tickets at a time;
            fewer for large sums, as `open_batches` says.
        max_open_sessions: largest number of sessions that a querying party may have open at a time.
        keep_answers_days: number of days after its release for which a batch's answers are kept, so that the
            querying party can fetch them again; none: permanently. Not shorter than the validity of a grant.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    enforce: ENFORCE = "worst_case"
    bound: BOUND = Field(default_factory=_default_bound)
    on_exhaustion: Literal["stop", "vanish"] = "stop"
    consent: Annotated[dict[Level, Epsilon], Field(max_length=1000)] = Field(default_factory=dict)
    delta: Annotated[float, Field(ge=MIN_DELTA, lt=1)] = 1e-5
    renewal_days: Annotated[int, Field(ge=1, le=36_600)] | None = None
    admission: Literal["certified", "added"] = "certified"
    mechanisms: tuple[str, ...] | None = None
    encodings: Encodings = PLAIN_ALONE
    ballots: Literal["any", "verified"] = "any"
    min_quorum: Annotated[int, Field(ge=1, le=10_000)] = 2
    min_sigma: Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)] = 1.0
    max_batch: Annotated[int, Field(ge=1, le=1_000_000)] = 10_000
    max_queries: Count = 1_000_000
    max_queries_per_day: Count | None = None
    grant_ttl_s: Seconds = DAY_S
    allowed_skew_s: Annotated[float, Field(ge=0, le=DAY_S, allow_inf_nan=False)] = 60.0
    freeze_after_s: Seconds = 30.0
    ticket_ttl_s: Seconds = 900.0
    max_open_batches: Count = 64
    max_open_sessions: Count = 256
    keep_answers_days: Annotated[int, Field(ge=1, le=36_600)] | None = None

    @model_validator(mode="after")
    def _check_days_kept(self) -> Self:
        if self.keep_answers_days is not None and self.keep_answers_days * DAY_S < self.grant_ttl_s:
            raise ValueError("keep_answers_days must be at least grant_ttl_s: until then a run may ask")
        return self

    @model_validator(mode="after")
    def _check_mechanisms(self) -> Self:
        require_known(self.mechanisms)
        return self

    @property
    def renewal_ms(self) -> int | None:
        """Milliseconds after which a budget starts anew, or None."""
        return None if self.renewal_days is None else self.renewal_days * DAY_MS

    @property
    def keep_answers_ms(self) -> int | None:
        """Milliseconds for which answers are kept, or None."""
        return None if self.keep_answers_days is None else self.keep_answers_days * DAY_MS

    @property
    def allows_unguaranteed(self) -> bool:
        """Whether mechanisms without a formal guarantee may run: ttac, and labelling by ttac's teachers."""
        return "ttac" in (self.mechanisms or ())

    def freeze_s(self, plan: Plan) -> float:
        """Seconds that a batch of a plan waits for missing shares."""
        return self.freeze_after_s + SHARE_S * len(plan.parties)

    def ticket_life_s(self, plan: Plan) -> float:
        """Seconds until a batch of a plan must be frozen, and again until it must be released."""
        slow = plan.encoding == "ckks" or plan.releases_sums
        return self.ticket_ttl_s * (SLOW if slow else 1)

    def open_batches(self, plan: Plan) -> int:
        """Return how many tickets a querying party may hold when it asks for one of a plan.

        Only the plan says how large its sums are, so fewer batches with large sums are allowed.
        """
        if not plan.releases_sums:
            return self.max_open_batches
        share = plan.mechanism.width(plan.classes) * plan.value_bytes
        fitting = SHARE_BYTES // (share * len(plan.parties))
        return min(self.max_open_batches, max(LARGE_BATCHES, fitting))

    def allows(self, mechanism: Mechanism) -> bool:
        """Whether plans may ask for a mechanism of this kind."""
        return allows(mechanism, self.mechanisms)

    def bound_of(self, plan: Plan) -> BOUND:
        """How costs of a plan are computed: the worst case if nobody sees a histogram, or there is none."""
        no_histogram = plan.tally == "blind" or plan.noise == "parties" or plan.releases_sums
        return "worst_case" if no_histogram else self.bound

    def epsilon_of(self, level: str) -> float:
        """Epsilon of a consent level; raises `consent.unknown`."""
        if level not in self.consent:
            known = ", ".join(self.consent) or "none"
            raise OstrakaError(
                ErrorCode.CONSENT_UNKNOWN,
                f"The policy has no consent level '{level}', only {known}; choose one, or apply a policy"
                " that has it.",
            )
        return self.consent[level]


class Applied(Protocol):
    """A policy as an administrator applied it."""

    @property
    def version(self) -> int:
        """Its number; a later policy has a larger one."""

    @property
    def toml(self) -> str:
        """Its text."""


class Policies(Protocol):
    """Looks up the policy in force, at every use."""

    def current(self) -> Policy:
        """Return the policy in force now."""

    def of(self, applied: Applied | None) -> Policy:
        """Return the policy in force if `applied` was applied last; None if none ever was."""

    def check(self, policy: Policy) -> None:
        """Raise if this guardian may not put a policy into force."""


class PolicyInForce:
    """The policy that was applied last, else the one of the guardian's site.toml. Threads may share it."""

    def __init__(
        self, applied: Callable[[], Applied | None], fallback: Policy, *, votes_may_tell: bool = False
    ) -> None:
        """Take a function that finds the policy applied last, and the policy in force until there is one.

        `votes_may_tell` allows policies under which stops and times depend on votes.
        """
        self._applied = applied
        self._votes_may_tell = votes_may_tell
        self._read = (0, fallback)
        self._fallback = fallback

    def current(self) -> Policy:
        """Return the policy now in force, parsed once; raises as `check` if another guardian applied it."""
        return self.of(self._applied())

    def of(self, applied: Applied | None) -> Policy:
        """As `current`, for the policy that was applied last."""
        policy = self._fallback if applied is None else self._parse(applied)
        self.check(policy)
        return policy

    def check(self, policy: Policy) -> None:
        """Raise `policy.stops_tell_votes` for a policy that only guardians started for it serve."""
        if policy.enforce == "data_dependent" and not self._votes_may_tell:
            raise OstrakaError(
                ErrorCode.POLICY_STOPS_TELL_VOTES,
                "Under enforce data_dependent the moment at which a session stops and the time of every"
                " answer tell votes; set enforce to worst_case, or for simulations and research start the"
                " guardian with --stops-and-times-tell-votes.",
            )

    def _parse(self, applied: Applied) -> Policy:
        version, policy = self._read
        if version != applied.version:
            policy = parse_policy(applied.toml)
            # Replaced as a whole, so that no thread sees a version with another version's policy.
            self._read = (applied.version, policy)
        return policy


def load_policy(folder: Path) -> Policy:
    """Read the table `[policy]` of `folder`/site.toml, with defaults for missing keys.

    Raises:
        OstrakaError: `config.invalid` for an unknown key or a value out of range.
    """
    return load_section(folder, "policy", Policy)


def parse_policy(text: str) -> Policy:
    """Return the policy in a TOML file, with defaults for missing keys.

    Raises:
        OstrakaError: `policy.invalid` naming the wrong key.
    """
    try:
        stated = parse_toml(text)
        return Policy.model_validate(stated)
    except ValidationError as exc:
        first = exc.errors()[0]
        where = place_text(first, stated) or "policy"
        problem = problem_text(first)
        raise OstrakaError(
            ErrorCode.POLICY_INVALID, f"The policy's key {where} is off: {problem}; correct the file."
        ) from exc
    except TomlError as exc:
        raise OstrakaError(ErrorCode.POLICY_INVALID, f"The policy {exc}; correct the file.") from exc
