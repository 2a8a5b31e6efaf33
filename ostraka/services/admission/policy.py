"""Policy of an answering party, in addition to the guardian's."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Identity
from ostraka.common.learning.device import AUTO, Device, DeviceNames
from ostraka.common.mechanism import MECHANISMS, Mechanism
from ostraka.common.mechanism.allowed import allows, allows_sums, require_known
from ostraka.common.plan.encodings import PLAIN_ALONE, QUERIES, Encodings, missing_encoding
from ostraka.common.plan.plan import Plan
from ostraka.common.privacy import budget_amount, budget_rdp, propose_order
from ostraka.services.journal.limits import Cap

Count = Annotated[int, Field(ge=1, lt=2**32)]


class PartySection(BaseModel):
    """Table [party] of a party's site.toml; paths are relative to its folder."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task: Path = Path("task.toml")
    """Task file of the teachers."""
    max_votes_per_person: Count = 1
    """Largest number of votes that one person's records can change in one query. Charges grow with its
    square."""
    device: DeviceNames = AUTO
    """Device of teachers, encoders and training: "auto" (the first GPU, if there is one), "cpu", "cuda",
    "cuda:1", "mps", the UUID of a card or MIG slice, or a list of cards over which the ensemble is spread,
    such as ["cuda:0", "cuda:1"]. A party does not start if a named device is missing (`device.missing`)."""
    deterministic: bool = False
    """Whether the same seed gives the same teachers on a GPU too, as it always does on the CPU. Training is
    slower."""
    unload_first: bool = False
    """Whether a reload frees the GPU's memory before it loads new teachers, for GPUs without room for old and
    new teachers. A batch in progress loads the old teachers again; if they do not fit, it is refused and may
    be repeated."""

    def open_device(self) -> Device:
        """Return the configured device; it is looked up on first use."""
        return Device(self.device, deterministic=self.deterministic)


class PartyPolicy(BaseModel):
    """Table [policy] of a party's site.toml."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    min_parties: Annotated[int, Field(ge=1, le=10_000)] = 2
    """Smallest quorum with which this party's ballots may be released."""
    queriers: tuple[str, ...] = ()
    """Sites that may ask. Empty: every site of the federation with a querying party's certificate."""
    queries_per_day: Count | None = None
    """Largest number of queries that this party answers to one querying party in 24 hours; none: any
    number."""
    epsilon_cap: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)] | None = None
    """With `delta`: the largest worst-case epsilon that this party ever spends on all sessions together.
    None: only the guardian's budget applies."""
    delta: Annotated[float, Field(ge=1e-100, lt=1)] | None = None
    """Delta of the cap. Set both `epsilon_cap` and `delta`, or neither."""
    order_cap: Annotated[float, Field(gt=1, le=1e6, allow_inf_nan=False)] | None = None
    """Renyi order at which the cap is enforced. None: the order at which the cap pays for the most
    queries."""
    mechanisms: tuple[str, ...] | None = None
    """Mechanisms that this party answers; "votes" stands for all that label queries, "sums" for all that
    release sums over records. None: votes and joint training, but not `ttac`, which must be named.
    `noise_cluster` also needs `label_counts`; `rand_res` and `rand_res_labels` also need
    `randomized_labels`."""
    encodings: Encodings = PLAIN_ALONE
    """Encodings of queries that this party answers: "plain", "ckks" (encrypted, to heads `linear` and
    `square`) and "ckks-square" (encrypted, to heads `square-mlp` and `square-cnn`). A querying party that may
    send "ckks-square" is trusted with the models."""
    ballots: Literal["any", "verified"] = "any"
    """Ballots with which this party takes part: "any", or only "verified" ballots, so that no other party can
    submit invalid votes unnoticed."""
    label_counts: Literal["record", "label"] | None = None
    """What this party protects of its own labelled records when it counts them by cluster for
    `noise_cluster`. None: it counts no records. "record": plans must have the adjacency "record". "label":
    all sites know the features, and plans may have either adjacency. A person changes as many counts as it
    has records, so `max_votes_per_person` must be at least that number.
    """
    randomized_labels: bool = False
    """Whether this party answers `rand_res` and `rand_res_labels` with randomized labels of its own records.
    These answers also reveal that somebody has a record with these features. The cost grows with the number
    of records of a person, so `max_votes_per_person` must be at least that number.
    """

    @model_validator(mode="after")
    def _whole_cap(self) -> Self:
        if (self.epsilon_cap is None) != (self.delta is None):
            raise ValueError("set epsilon_cap and delta together, or neither")
        if self.order_cap is not None and self.epsilon_cap is None:
            raise ValueError("order_cap needs epsilon_cap and delta")
        return self

    @model_validator(mode="after")
    def _check_mechanism_names(self) -> Self:
        kinds = require_known(self.mechanisms)
        for kind in kinds:
            setting = MECHANISMS[kind].party_setting
            if setting is not None and not getattr(self, setting):
                value = '"record" or "label"' if setting == "label_counts" else "true"
                raise ValueError(f"mechanism {kind} needs {setting} = {value}")
        return self

    @property
    def allows_sums(self) -> bool:
        """Whether any sum over records is answered."""
        return allows_sums(self.mechanisms)

    @property
    def cap(self) -> Cap | None:
        """The cap as an amount at one order; raises `budget.too_small` if it pays for nothing."""
        if self.epsilon_cap is None or self.delta is None:
            return None
        order = self.order_cap or propose_order(self.epsilon_cap, self.delta)
        return Cap(order, budget_amount(budget_rdp(self.epsilon_cap, self.delta, order)))

    def check(self, plan: Plan, querier: Identity, head: str) -> None:
        """Raise `policy.refused` unless this querying party may ask this of teachers with such a head."""
        if self.queriers and querier.site not in self.queriers:
            raise OstrakaError(
                ErrorCode.POLICY_REFUSED,
                f"This party does not answer {querier.site}: ask its operator to add the site to "
                "policy.queriers in site.toml, or leave this party out of the plan.",
            )
        if plan.quorum < self.min_parties:
            raise OstrakaError(
                ErrorCode.POLICY_REFUSED,
                f"This party asks for a quorum of at least {self.min_parties}, the plan says {plan.quorum}: "
                "open a session with a larger quorum.",
            )
        if self.ballots not in ("any", plan.ballots):
            raise OstrakaError(
                ErrorCode.POLICY_REFUSED,
                "This party takes part with verified ballots alone: choose ballots verified, or leave this "
                "party out.",
            )
        self._check_encoding(plan, head)
        self._check_mechanism(plan.mechanism)
        if plan.mechanism.party_setting == "label_counts":
            self._check_counts(plan)

    def _check_encoding(self, plan: Plan, head: str) -> None:
        missing = missing_encoding(plan, [head], self.encodings)
        if missing is not None:
            raise OstrakaError(
                ErrorCode.POLICY_REFUSED,
                f'This party does not answer {QUERIES[missing]}: ask its operator to add "{missing}" to '
                "policy.encodings in site.toml, choose another encoding, or leave this party out.",
            )

    def _check_counts(self, plan: Plan) -> None:
        if self.label_counts in (plan.adjacency, "label"):
            return
        raise OstrakaError(
            ErrorCode.POLICY_REFUSED,
            f"This party does not count its labelled records for {plan.mechanism.kind} under adjacency "
            f'{plan.adjacency}: ask its operator to set policy.label_counts to "{plan.adjacency}" in '
            "site.toml, or leave this party out of the plan.",
        )

    def _check_mechanism(self, mechanism: Mechanism) -> None:
        if mechanism.party_setting == "randomized_labels" and not self.randomized_labels:
            raise OstrakaError(
                ErrorCode.POLICY_REFUSED,
                "This party gives away no labels, not even randomised ones: ask its operator to set "
                "policy.randomized_labels to true in site.toml, or leave this party out of the plan.",
            )
        if not mechanism.guaranteed and self.mechanisms is None:
            raise OstrakaError(
                ErrorCode.POLICY_REFUSED,
                f"This party does not train with {mechanism.kind}, which gives no formal guarantee: ask its "
                f"operator to name {mechanism.kind} in policy.mechanisms of site.toml, or train with "
                "dp_ttac.",
            )
        if allows(mechanism, self.mechanisms):
            return
        if self.mechanisms is None:
            raise OstrakaError(
                ErrorCode.POLICY_REFUSED,
                f"This party answers votes alone and {mechanism.kind} releases sums over its records, of"
                ' which models are made: ask its operator to add "sums" to policy.mechanisms in site.toml, or'
                " leave this party out of the plan.",
            )
        raise OstrakaError(
            ErrorCode.POLICY_REFUSED,
            f"This party does not answer mechanism {mechanism.kind}, only "
            f"{', '.join(self.mechanisms) or 'none'}: choose one of these, or leave this party out.",
        )
