from ostraka.protos.ostraka.v1 import common_pb2 as _common_pb2
from ostraka.protos.ostraka.v1 import limits_pb2 as _limits_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Budget(_message.Message):
    __slots__ = ("party", "group", "adjacency", "epsilon", "delta", "order", "enforce", "epsilon_worst_case", "epsilon_reserved", "state", "level", "broken_unix_s", "epsilon_lifetime", "agreements", "unguaranteed", "filter", "whole_persons")
    PARTY_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    ADJACENCY_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    ENFORCE_FIELD_NUMBER: _ClassVar[int]
    EPSILON_WORST_CASE_FIELD_NUMBER: _ClassVar[int]
    EPSILON_RESERVED_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    BROKEN_UNIX_S_FIELD_NUMBER: _ClassVar[int]
    EPSILON_LIFETIME_FIELD_NUMBER: _ClassVar[int]
    AGREEMENTS_FIELD_NUMBER: _ClassVar[int]
    UNGUARANTEED_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    WHOLE_PERSONS_FIELD_NUMBER: _ClassVar[int]
    party: str
    group: str
    adjacency: str
    epsilon: float
    delta: float
    order: float
    enforce: str
    epsilon_worst_case: float
    epsilon_reserved: float
    state: str
    level: str
    broken_unix_s: int
    epsilon_lifetime: float
    agreements: int
    unguaranteed: bool
    filter: str
    whole_persons: bool
    def __init__(self, party: _Optional[str] = ..., group: _Optional[str] = ..., adjacency: _Optional[str] = ..., epsilon: _Optional[float] = ..., delta: _Optional[float] = ..., order: _Optional[float] = ..., enforce: _Optional[str] = ..., epsilon_worst_case: _Optional[float] = ..., epsilon_reserved: _Optional[float] = ..., state: _Optional[str] = ..., level: _Optional[str] = ..., broken_unix_s: _Optional[int] = ..., epsilon_lifetime: _Optional[float] = ..., agreements: _Optional[int] = ..., unguaranteed: _Optional[bool] = ..., filter: _Optional[str] = ..., whole_persons: _Optional[bool] = ...) -> None: ...

class PartyInfo(_message.Message):
    __slots__ = ("site", "state", "groups", "mixed", "max_votes_per_person", "training", "since_unix_s", "together", "shared_features", "whole_persons")
    SITE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    MIXED_FIELD_NUMBER: _ClassVar[int]
    MAX_VOTES_PER_PERSON_FIELD_NUMBER: _ClassVar[int]
    TRAINING_FIELD_NUMBER: _ClassVar[int]
    SINCE_UNIX_S_FIELD_NUMBER: _ClassVar[int]
    TOGETHER_FIELD_NUMBER: _ClassVar[int]
    SHARED_FEATURES_FIELD_NUMBER: _ClassVar[int]
    WHOLE_PERSONS_FIELD_NUMBER: _ClassVar[int]
    site: str
    state: str
    groups: _containers.RepeatedCompositeFieldContainer[_common_pb2.Group]
    mixed: bool
    max_votes_per_person: int
    training: str
    since_unix_s: int
    together: str
    shared_features: bool
    whole_persons: bool
    def __init__(self, site: _Optional[str] = ..., state: _Optional[str] = ..., groups: _Optional[_Iterable[_Union[_common_pb2.Group, _Mapping]]] = ..., mixed: _Optional[bool] = ..., max_votes_per_person: _Optional[int] = ..., training: _Optional[str] = ..., since_unix_s: _Optional[int] = ..., together: _Optional[str] = ..., shared_features: _Optional[bool] = ..., whole_persons: _Optional[bool] = ...) -> None: ...

class ListPartiesRequest(_message.Message):
    __slots__ = ("party",)
    PARTY_FIELD_NUMBER: _ClassVar[int]
    party: str
    def __init__(self, party: _Optional[str] = ...) -> None: ...

class SetPartyRequest(_message.Message):
    __slots__ = ("party", "state", "reason")
    PARTY_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    party: str
    state: str
    reason: str
    def __init__(self, party: _Optional[str] = ..., state: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class SetPartyReply(_message.Message):
    __slots__ = ("party",)
    PARTY_FIELD_NUMBER: _ClassVar[int]
    party: PartyInfo
    def __init__(self, party: _Optional[_Union[PartyInfo, _Mapping]] = ...) -> None: ...

class ListBudgetsRequest(_message.Message):
    __slots__ = ("party",)
    PARTY_FIELD_NUMBER: _ClassVar[int]
    party: str
    def __init__(self, party: _Optional[str] = ...) -> None: ...

class SetBudgetRequest(_message.Message):
    __slots__ = ("party", "group", "adjacency", "epsilon", "delta", "order", "reason", "filter")
    PARTY_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    ADJACENCY_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    party: str
    group: str
    adjacency: str
    epsilon: float
    delta: float
    order: float
    reason: str
    filter: str
    def __init__(self, party: _Optional[str] = ..., group: _Optional[str] = ..., adjacency: _Optional[str] = ..., epsilon: _Optional[float] = ..., delta: _Optional[float] = ..., order: _Optional[float] = ..., reason: _Optional[str] = ..., filter: _Optional[str] = ...) -> None: ...

class SetBudgetReply(_message.Message):
    __slots__ = ("budget",)
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    budget: Budget
    def __init__(self, budget: _Optional[_Union[Budget, _Mapping]] = ...) -> None: ...

class GrantBudgetRequest(_message.Message):
    __slots__ = ("agreement", "reason")
    AGREEMENT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    agreement: _common_pb2.Signed
    reason: str
    def __init__(self, agreement: _Optional[_Union[_common_pb2.Signed, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class FreezeBudgetRequest(_message.Message):
    __slots__ = ("party", "group", "adjacency", "frozen", "reason")
    PARTY_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    ADJACENCY_FIELD_NUMBER: _ClassVar[int]
    FROZEN_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    party: str
    group: str
    adjacency: str
    frozen: bool
    reason: str
    def __init__(self, party: _Optional[str] = ..., group: _Optional[str] = ..., adjacency: _Optional[str] = ..., frozen: _Optional[bool] = ..., reason: _Optional[str] = ...) -> None: ...

class BudgetHistoryRequest(_message.Message):
    __slots__ = ("party", "group", "adjacency")
    PARTY_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    ADJACENCY_FIELD_NUMBER: _ClassVar[int]
    party: str
    group: str
    adjacency: str
    def __init__(self, party: _Optional[str] = ..., group: _Optional[str] = ..., adjacency: _Optional[str] = ...) -> None: ...

class BudgetEvent(_message.Message):
    __slots__ = ("time_unix_ms", "kind", "epsilon", "epsilon_worst_case", "session_id", "batch_id", "reason", "released")
    TIME_UNIX_MS_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    EPSILON_WORST_CASE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    RELEASED_FIELD_NUMBER: _ClassVar[int]
    time_unix_ms: int
    kind: str
    epsilon: float
    epsilon_worst_case: float
    session_id: str
    batch_id: int
    reason: str
    released: str
    def __init__(self, time_unix_ms: _Optional[int] = ..., kind: _Optional[str] = ..., epsilon: _Optional[float] = ..., epsilon_worst_case: _Optional[float] = ..., session_id: _Optional[str] = ..., batch_id: _Optional[int] = ..., reason: _Optional[str] = ..., released: _Optional[str] = ...) -> None: ...

class BudgetEvents(_message.Message):
    __slots__ = ("rows",)
    ROWS_FIELD_NUMBER: _ClassVar[int]
    rows: _containers.RepeatedCompositeFieldContainer[BudgetEvent]
    def __init__(self, rows: _Optional[_Iterable[_Union[BudgetEvent, _Mapping]]] = ...) -> None: ...

class SetConsentRequest(_message.Message):
    __slots__ = ("party", "group", "level", "adjacency", "order", "reason", "filter")
    PARTY_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    ADJACENCY_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    party: str
    group: str
    level: str
    adjacency: str
    order: float
    reason: str
    filter: str
    def __init__(self, party: _Optional[str] = ..., group: _Optional[str] = ..., level: _Optional[str] = ..., adjacency: _Optional[str] = ..., order: _Optional[float] = ..., reason: _Optional[str] = ..., filter: _Optional[str] = ...) -> None: ...

class WithdrawConsentRequest(_message.Message):
    __slots__ = ("party", "group", "adjacency", "reason")
    PARTY_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    ADJACENCY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    party: str
    group: str
    adjacency: str
    reason: str
    def __init__(self, party: _Optional[str] = ..., group: _Optional[str] = ..., adjacency: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class ShowPolicyRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ApplyPolicyRequest(_message.Message):
    __slots__ = ("toml", "reason", "check_only")
    TOML_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    CHECK_ONLY_FIELD_NUMBER: _ClassVar[int]
    toml: str
    reason: str
    check_only: bool
    def __init__(self, toml: _Optional[str] = ..., reason: _Optional[str] = ..., check_only: _Optional[bool] = ...) -> None: ...

class PolicyReply(_message.Message):
    __slots__ = ("toml", "version", "changes", "allows", "noise", "ledger")
    TOML_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    ALLOWS_FIELD_NUMBER: _ClassVar[int]
    NOISE_FIELD_NUMBER: _ClassVar[int]
    LEDGER_FIELD_NUMBER: _ClassVar[int]
    toml: str
    version: int
    changes: _containers.RepeatedScalarFieldContainer[str]
    allows: str
    noise: str
    ledger: str
    def __init__(self, toml: _Optional[str] = ..., version: _Optional[int] = ..., changes: _Optional[_Iterable[str]] = ..., allows: _Optional[str] = ..., noise: _Optional[str] = ..., ledger: _Optional[str] = ...) -> None: ...

class ListSessionsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SessionSummary(_message.Message):
    __slots__ = ("session_id", "querier", "state", "queries", "asked", "answered", "opened_unix_s")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    QUERIER_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    QUERIES_FIELD_NUMBER: _ClassVar[int]
    ASKED_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_FIELD_NUMBER: _ClassVar[int]
    OPENED_UNIX_S_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    querier: str
    state: str
    queries: int
    asked: int
    answered: int
    opened_unix_s: int
    def __init__(self, session_id: _Optional[str] = ..., querier: _Optional[str] = ..., state: _Optional[str] = ..., queries: _Optional[int] = ..., asked: _Optional[int] = ..., answered: _Optional[int] = ..., opened_unix_s: _Optional[int] = ...) -> None: ...

class ShowSessionRequest(_message.Message):
    __slots__ = ("session_id",)
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    def __init__(self, session_id: _Optional[str] = ...) -> None: ...

class ShowSessionReply(_message.Message):
    __slots__ = ("session", "mechanism", "variant", "enforce", "bound", "parties", "tally", "encoding", "unguaranteed", "released")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    MECHANISM_FIELD_NUMBER: _ClassVar[int]
    VARIANT_FIELD_NUMBER: _ClassVar[int]
    ENFORCE_FIELD_NUMBER: _ClassVar[int]
    BOUND_FIELD_NUMBER: _ClassVar[int]
    PARTIES_FIELD_NUMBER: _ClassVar[int]
    TALLY_FIELD_NUMBER: _ClassVar[int]
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    UNGUARANTEED_FIELD_NUMBER: _ClassVar[int]
    RELEASED_FIELD_NUMBER: _ClassVar[int]
    session: SessionSummary
    mechanism: str
    variant: str
    enforce: str
    bound: str
    parties: _containers.RepeatedScalarFieldContainer[str]
    tally: str
    encoding: str
    unguaranteed: bool
    released: str
    def __init__(self, session: _Optional[_Union[SessionSummary, _Mapping]] = ..., mechanism: _Optional[str] = ..., variant: _Optional[str] = ..., enforce: _Optional[str] = ..., bound: _Optional[str] = ..., parties: _Optional[_Iterable[str]] = ..., tally: _Optional[str] = ..., encoding: _Optional[str] = ..., unguaranteed: _Optional[bool] = ..., released: _Optional[str] = ...) -> None: ...

class CancelSessionRequest(_message.Message):
    __slots__ = ("session_id", "reason")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    reason: str
    def __init__(self, session_id: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class CancelSessionReply(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: SessionSummary
    def __init__(self, session: _Optional[_Union[SessionSummary, _Mapping]] = ...) -> None: ...

class RevokeRequest(_message.Message):
    __slots__ = ("revocations", "reason")
    REVOCATIONS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    revocations: bytes
    reason: str
    def __init__(self, revocations: _Optional[bytes] = ..., reason: _Optional[str] = ...) -> None: ...

class RevokeReply(_message.Message):
    __slots__ = ("number", "revoked")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    REVOKED_FIELD_NUMBER: _ClassVar[int]
    number: int
    revoked: int
    def __init__(self, number: _Optional[int] = ..., revoked: _Optional[int] = ...) -> None: ...

class HeadRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ExportAuditRequest(_message.Message):
    __slots__ = ("first",)
    FIRST_FIELD_NUMBER: _ClassVar[int]
    first: int
    def __init__(self, first: _Optional[int] = ...) -> None: ...

class AuditRow(_message.Message):
    __slots__ = ("sequence", "time_unix_ms", "payload", "previous", "hash", "signed")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    TIME_UNIX_MS_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    SIGNED_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    time_unix_ms: int
    payload: str
    previous: bytes
    hash: bytes
    signed: _common_pb2.Signed
    def __init__(self, sequence: _Optional[int] = ..., time_unix_ms: _Optional[int] = ..., payload: _Optional[str] = ..., previous: _Optional[bytes] = ..., hash: _Optional[bytes] = ..., signed: _Optional[_Union[_common_pb2.Signed, _Mapping]] = ...) -> None: ...

class ListChargesRequest(_message.Message):
    __slots__ = ("party", "from_unix_ms", "to_unix_ms", "session_id")
    PARTY_FIELD_NUMBER: _ClassVar[int]
    FROM_UNIX_MS_FIELD_NUMBER: _ClassVar[int]
    TO_UNIX_MS_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    party: str
    from_unix_ms: int
    to_unix_ms: int
    session_id: str
    def __init__(self, party: _Optional[str] = ..., from_unix_ms: _Optional[int] = ..., to_unix_ms: _Optional[int] = ..., session_id: _Optional[str] = ...) -> None: ...

class ChargeRow(_message.Message):
    __slots__ = ("party", "group", "adjacency", "session_id", "batch_id", "querier", "time_unix_ms", "epsilon", "epsilon_worst_case", "enforce", "bound", "mechanism", "tally", "unguaranteed")
    PARTY_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    ADJACENCY_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    QUERIER_FIELD_NUMBER: _ClassVar[int]
    TIME_UNIX_MS_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    EPSILON_WORST_CASE_FIELD_NUMBER: _ClassVar[int]
    ENFORCE_FIELD_NUMBER: _ClassVar[int]
    BOUND_FIELD_NUMBER: _ClassVar[int]
    MECHANISM_FIELD_NUMBER: _ClassVar[int]
    TALLY_FIELD_NUMBER: _ClassVar[int]
    UNGUARANTEED_FIELD_NUMBER: _ClassVar[int]
    party: str
    group: str
    adjacency: str
    session_id: str
    batch_id: int
    querier: str
    time_unix_ms: int
    epsilon: float
    epsilon_worst_case: float
    enforce: str
    bound: str
    mechanism: str
    tally: str
    unguaranteed: bool
    def __init__(self, party: _Optional[str] = ..., group: _Optional[str] = ..., adjacency: _Optional[str] = ..., session_id: _Optional[str] = ..., batch_id: _Optional[int] = ..., querier: _Optional[str] = ..., time_unix_ms: _Optional[int] = ..., epsilon: _Optional[float] = ..., epsilon_worst_case: _Optional[float] = ..., enforce: _Optional[str] = ..., bound: _Optional[str] = ..., mechanism: _Optional[str] = ..., tally: _Optional[str] = ..., unguaranteed: _Optional[bool] = ...) -> None: ...

class ChargeRows(_message.Message):
    __slots__ = ("rows",)
    ROWS_FIELD_NUMBER: _ClassVar[int]
    rows: _containers.RepeatedCompositeFieldContainer[ChargeRow]
    def __init__(self, rows: _Optional[_Iterable[_Union[ChargeRow, _Mapping]]] = ...) -> None: ...

class ListSealedChargesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SealedChargeRows(_message.Message):
    __slots__ = ("ledger_id", "key_check", "rows")
    LEDGER_ID_FIELD_NUMBER: _ClassVar[int]
    KEY_CHECK_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    ledger_id: bytes
    key_check: bytes
    rows: _containers.RepeatedCompositeFieldContainer[SealedChargeRow]
    def __init__(self, ledger_id: _Optional[bytes] = ..., key_check: _Optional[bytes] = ..., rows: _Optional[_Iterable[_Union[SealedChargeRow, _Mapping]]] = ...) -> None: ...

class SealedChargeRow(_message.Message):
    __slots__ = ("party", "group", "adjacency", "session_id", "batch_id", "time_unix_ms", "worst_case", "sealed")
    PARTY_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    ADJACENCY_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    TIME_UNIX_MS_FIELD_NUMBER: _ClassVar[int]
    WORST_CASE_FIELD_NUMBER: _ClassVar[int]
    SEALED_FIELD_NUMBER: _ClassVar[int]
    party: str
    group: str
    adjacency: str
    session_id: str
    batch_id: int
    time_unix_ms: int
    worst_case: int
    sealed: bytes
    def __init__(self, party: _Optional[str] = ..., group: _Optional[str] = ..., adjacency: _Optional[str] = ..., session_id: _Optional[str] = ..., batch_id: _Optional[int] = ..., time_unix_ms: _Optional[int] = ..., worst_case: _Optional[int] = ..., sealed: _Optional[bytes] = ...) -> None: ...

class PublishEpsilonRequest(_message.Message):
    __slots__ = ("party", "group", "adjacency", "beta", "sigma", "reason")
    PARTY_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    ADJACENCY_FIELD_NUMBER: _ClassVar[int]
    BETA_FIELD_NUMBER: _ClassVar[int]
    SIGMA_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    party: str
    group: str
    adjacency: str
    beta: float
    sigma: float
    reason: str
    def __init__(self, party: _Optional[str] = ..., group: _Optional[str] = ..., adjacency: _Optional[str] = ..., beta: _Optional[float] = ..., sigma: _Optional[float] = ..., reason: _Optional[str] = ...) -> None: ...

class PublishEpsilonReply(_message.Message):
    __slots__ = ("published", "statement", "again")
    PUBLISHED_FIELD_NUMBER: _ClassVar[int]
    STATEMENT_FIELD_NUMBER: _ClassVar[int]
    AGAIN_FIELD_NUMBER: _ClassVar[int]
    published: PublishedEpsilon
    statement: _common_pb2.Signed
    again: bool
    def __init__(self, published: _Optional[_Union[PublishedEpsilon, _Mapping]] = ..., statement: _Optional[_Union[_common_pb2.Signed, _Mapping]] = ..., again: _Optional[bool] = ...) -> None: ...

class PublishedEpsilon(_message.Message):
    __slots__ = ("units", "epsilon", "delta", "order", "epsilon_worst_case", "beta", "sigma", "batches", "time_unix_ms", "bound", "state")
    UNITS_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    EPSILON_WORST_CASE_FIELD_NUMBER: _ClassVar[int]
    BETA_FIELD_NUMBER: _ClassVar[int]
    SIGMA_FIELD_NUMBER: _ClassVar[int]
    BATCHES_FIELD_NUMBER: _ClassVar[int]
    TIME_UNIX_MS_FIELD_NUMBER: _ClassVar[int]
    BOUND_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    units: _containers.RepeatedCompositeFieldContainer[PublishedUnit]
    epsilon: float
    delta: float
    order: float
    epsilon_worst_case: float
    beta: float
    sigma: float
    batches: int
    time_unix_ms: int
    bound: str
    state: str
    def __init__(self, units: _Optional[_Iterable[_Union[PublishedUnit, _Mapping]]] = ..., epsilon: _Optional[float] = ..., delta: _Optional[float] = ..., order: _Optional[float] = ..., epsilon_worst_case: _Optional[float] = ..., beta: _Optional[float] = ..., sigma: _Optional[float] = ..., batches: _Optional[int] = ..., time_unix_ms: _Optional[int] = ..., bound: _Optional[str] = ..., state: _Optional[str] = ...) -> None: ...

class PublishedUnit(_message.Message):
    __slots__ = ("party", "group", "adjacency", "own", "rdp", "order")
    PARTY_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    ADJACENCY_FIELD_NUMBER: _ClassVar[int]
    OWN_FIELD_NUMBER: _ClassVar[int]
    RDP_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    party: str
    group: str
    adjacency: str
    own: bool
    rdp: float
    order: float
    def __init__(self, party: _Optional[str] = ..., group: _Optional[str] = ..., adjacency: _Optional[str] = ..., own: _Optional[bool] = ..., rdp: _Optional[float] = ..., order: _Optional[float] = ...) -> None: ...
