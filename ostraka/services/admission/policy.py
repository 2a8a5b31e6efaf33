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
    """The task file that teachers learn and vote by."""
    max_votes_per_person: Count = 1
    """Votes that one person's records can change in one query; charges grow with its square."""
    device: DeviceNames = AUTO
    """Where teachers, encoders and training compute: "auto" (the first card, where there is one), "cpu",
    "cuda", "cuda:1", "mps", the UUID of a card or MIG slice, or a list of cards that an ensemble spreads
    over, such as ["cuda:0", "cuda:1"]. A party does not start without what is named (`device.missing`)."""
    deterministic: bool = False
    """Whether the same seed gives the same teachers on a card, too, as it does on the CPU: slower."""
    unload_first: bool = False
    """Whether a reload gives back the cards' memory before it puts new teachers there: for cards without room
    for both. A batch under way puts the old ones back, or is refused for the moment where they do not fit."""

    def open_device(self) -> Device:
        """Return what is named, to be looked for once it is used."""
        return Device(self.device, deterministic=self.deterministic)


class PartyPolicy(BaseModel):
    """Table [policy] of a party's site.toml."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    min_parties: Annotated[int, Field(ge=1, le=10_000)] = 2
    """The least quorum this party's ballots may be released with."""
    queriers: tuple[str, ...] = ()
    """Sites that may ask; empty: every site of the federation with a querying party's certificate."""
    queries_per_day: Count | None = None
    """The most queries of one querying party that are answered in 24 hours; none: any number."""
    epsilon_cap: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)] | None = None
    """With `delta`, the most this party spends at worst on all sessions ever; none: the guardian's alone."""
    delta: Annotated[float, Field(ge=1e-100, lt=1)] | None = None
    """Delta of the cap; set both or neither."""
    order_cap: Annotated[float, Field(gt=1, le=1e6, allow_inf_nan=False)] | None = None
    """Renyi order the cap is kept at; none: the one at which it buys the most queries."""
    mechanisms: tuple[str, ...] | None = None
    """Mechanisms to answer, or "votes" for all that label queries and "sums" for all that release sums over
    records; none: votes and joint training, but for `ttac`, which must be named; `noise_cluster` only with
    `label_counts`, `rand_res` and `rand_res_labels` only with `randomized_labels`."""
    encodings: Encodings = PLAIN_ALONE
    """Queries to answer: "plain", "ckks" (encrypted, to heads `linear` and `square`) and "ckks-square"
    (to `square-mlp` and `square-cnn`). Whoever may send the last is trusted with the models behind them."""
    ballots: Literal["any", "verified"] = "any"
    """Ballots to take part with: "any", or "verified" alone, so that no party can stuff its own unseen."""
    label_counts: Literal["record", "label"] | None = None
    """What of its own labelled records this party keeps secret where it counts them by cluster, as
    `noise_cluster` asks for; none: it counts none.

    "record": plans must have that adjacency. "label": all sites know the features, and plans may have either.
    A person changes as many counts as it has records: `max_votes_per_person` must be that large.
    """
    randomized_labels: bool = False
    """Whether to give away this party's own labels, each drawn anew, which `rand_res` and
    `rand_res_labels` ask for.

    That somebody has a record with such features is told as well. What labels cost grows with the records of
    a person: `max_votes_per_person` must be that large.
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
        """The cap as an amount at one order; raises `budget.too_small` where it pays for nothing."""
        if self.epsilon_cap is None or self.delta is None:
            return None
        order = self.order_cap or propose_order(self.epsilon_cap, self.delta)
        return Cap(order, budget_amount(budget_rdp(self.epsilon_cap, self.delta, order)))

    def check(self, plan: Plan, querier: Identity, head: str) -> None:
        """Raise `policy.refused` unless this querying party may ask teachers with such a head for this."""
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
                "This party does not give its labels away, not even randomised: ask its operator to set "
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
