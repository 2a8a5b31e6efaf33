from ostraka.protos.ostraka.v1 import common_pb2 as _common_pb2
from ostraka.protos.ostraka.v1 import limits_pb2 as _limits_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RegisterRequest(_message.Message):
    __slots__ = ("manifest", "kept_head", "revocations")
    MANIFEST_FIELD_NUMBER: _ClassVar[int]
    KEPT_HEAD_FIELD_NUMBER: _ClassVar[int]
    REVOCATIONS_FIELD_NUMBER: _ClassVar[int]
    manifest: _common_pb2.Signed
    kept_head: _common_pb2.AuditHead
    revocations: int
    def __init__(self, manifest: _Optional[_Union[_common_pb2.Signed, _Mapping]] = ..., kept_head: _Optional[_Union[_common_pb2.AuditHead, _Mapping]] = ..., revocations: _Optional[int] = ...) -> None: ...

class RegisterReply(_message.Message):
    __slots__ = ("audit_head", "epoch", "reconcile", "revocations", "refused")
    AUDIT_HEAD_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    RECONCILE_FIELD_NUMBER: _ClassVar[int]
    REVOCATIONS_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    audit_head: _common_pb2.AuditHead
    epoch: int
    reconcile: bool
    revocations: bytes
    refused: _containers.RepeatedCompositeFieldContainer[_common_pb2.Signed]
    def __init__(self, audit_head: _Optional[_Union[_common_pb2.AuditHead, _Mapping]] = ..., epoch: _Optional[int] = ..., reconcile: _Optional[bool] = ..., revocations: _Optional[bytes] = ..., refused: _Optional[_Iterable[_Union[_common_pb2.Signed, _Mapping]]] = ...) -> None: ...

class ReconcileRequest(_message.Message):
    __slots__ = ("receipts",)
    RECEIPTS_FIELD_NUMBER: _ClassVar[int]
    receipts: _common_pb2.Signed
    def __init__(self, receipts: _Optional[_Union[_common_pb2.Signed, _Mapping]] = ...) -> None: ...

class ReconcileReply(_message.Message):
    __slots__ = ("audit_head", "epoch", "charged")
    AUDIT_HEAD_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    CHARGED_FIELD_NUMBER: _ClassVar[int]
    audit_head: _common_pb2.AuditHead
    epoch: int
    charged: int
    def __init__(self, audit_head: _Optional[_Union[_common_pb2.AuditHead, _Mapping]] = ..., epoch: _Optional[int] = ..., charged: _Optional[int] = ...) -> None: ...

class PlanRequest(_message.Message):
    __slots__ = ("plan",)
    PLAN_FIELD_NUMBER: _ClassVar[int]
    plan: bytes
    def __init__(self, plan: _Optional[bytes] = ...) -> None: ...

class PlanReply(_message.Message):
    __slots__ = ("enforce", "bound", "parties", "teachers", "voters", "scale", "fits", "encodings")
    ENFORCE_FIELD_NUMBER: _ClassVar[int]
    BOUND_FIELD_NUMBER: _ClassVar[int]
    PARTIES_FIELD_NUMBER: _ClassVar[int]
    TEACHERS_FIELD_NUMBER: _ClassVar[int]
    VOTERS_FIELD_NUMBER: _ClassVar[int]
    SCALE_FIELD_NUMBER: _ClassVar[int]
    FITS_FIELD_NUMBER: _ClassVar[int]
    ENCODINGS_FIELD_NUMBER: _ClassVar[int]
    enforce: str
    bound: str
    parties: _containers.RepeatedCompositeFieldContainer[PartyCost]
    teachers: int
    voters: float
    scale: float
    fits: int
    encodings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, enforce: _Optional[str] = ..., bound: _Optional[str] = ..., parties: _Optional[_Iterable[_Union[PartyCost, _Mapping]]] = ..., teachers: _Optional[int] = ..., voters: _Optional[float] = ..., scale: _Optional[float] = ..., fits: _Optional[int] = ..., encodings: _Optional[_Iterable[str]] = ...) -> None: ...

class PartyCost(_message.Message):
    __slots__ = ("site", "teachers", "order", "delta", "epsilon", "budget_epsilon", "fits", "group", "together", "rdp_left", "sensitivity", "whole_persons", "records")
    SITE_FIELD_NUMBER: _ClassVar[int]
    TEACHERS_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    BUDGET_EPSILON_FIELD_NUMBER: _ClassVar[int]
    FITS_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    TOGETHER_FIELD_NUMBER: _ClassVar[int]
    RDP_LEFT_FIELD_NUMBER: _ClassVar[int]
    SENSITIVITY_FIELD_NUMBER: _ClassVar[int]
    WHOLE_PERSONS_FIELD_NUMBER: _ClassVar[int]
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    site: str
    teachers: int
    order: float
    delta: float
    epsilon: float
    budget_epsilon: float
    fits: int
    group: str
    together: str
    rdp_left: float
    sensitivity: float
    whole_persons: bool
    records: int
    def __init__(self, site: _Optional[str] = ..., teachers: _Optional[int] = ..., order: _Optional[float] = ..., delta: _Optional[float] = ..., epsilon: _Optional[float] = ..., budget_epsilon: _Optional[float] = ..., fits: _Optional[int] = ..., group: _Optional[str] = ..., together: _Optional[str] = ..., rdp_left: _Optional[float] = ..., sensitivity: _Optional[float] = ..., whole_persons: _Optional[bool] = ..., records: _Optional[int] = ...) -> None: ...

class OpenSessionRequest(_message.Message):
    __slots__ = ("plan",)
    PLAN_FIELD_NUMBER: _ClassVar[int]
    plan: bytes
    def __init__(self, plan: _Optional[bytes] = ...) -> None: ...

class OpenSessionReply(_message.Message):
    __slots__ = ("grant",)
    GRANT_FIELD_NUMBER: _ClassVar[int]
    grant: _common_pb2.SignedList
    def __init__(self, grant: _Optional[_Union[_common_pb2.SignedList, _Mapping]] = ...) -> None: ...

class OpenBatchRequest(_message.Message):
    __slots__ = ("session_id", "batch_id", "size", "unavailable")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    UNAVAILABLE_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    batch_id: int
    size: int
    unavailable: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, session_id: _Optional[str] = ..., batch_id: _Optional[int] = ..., size: _Optional[int] = ..., unavailable: _Optional[_Iterable[str]] = ...) -> None: ...

class OpenBatchReply(_message.Message):
    __slots__ = ("ticket",)
    TICKET_FIELD_NUMBER: _ClassVar[int]
    ticket: _common_pb2.SignedList
    def __init__(self, ticket: _Optional[_Union[_common_pb2.SignedList, _Mapping]] = ...) -> None: ...

class SubmitBallotsRequest(_message.Message):
    __slots__ = ("header", "chunk")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    header: BallotsHeader
    chunk: _common_pb2.Chunk
    def __init__(self, header: _Optional[_Union[BallotsHeader, _Mapping]] = ..., chunk: _Optional[_Union[_common_pb2.Chunk, _Mapping]] = ...) -> None: ...

class SubmitBallotsWholeRequest(_message.Message):
    __slots__ = ("header", "data")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    header: BallotsHeader
    data: bytes
    def __init__(self, header: _Optional[_Union[BallotsHeader, _Mapping]] = ..., data: _Optional[bytes] = ...) -> None: ...

class BallotsHeader(_message.Message):
    __slots__ = ("session_id", "batch_id", "rows", "width", "sha256", "commitment", "blind_seed")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    COMMITMENT_FIELD_NUMBER: _ClassVar[int]
    BLIND_SEED_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    batch_id: int
    rows: int
    width: int
    sha256: bytes
    commitment: bytes
    blind_seed: bytes
    def __init__(self, session_id: _Optional[str] = ..., batch_id: _Optional[int] = ..., rows: _Optional[int] = ..., width: _Optional[int] = ..., sha256: _Optional[bytes] = ..., commitment: _Optional[bytes] = ..., blind_seed: _Optional[bytes] = ...) -> None: ...

class SubmitBallotsReply(_message.Message):
    __slots__ = ("audit_head", "challenge")
    AUDIT_HEAD_FIELD_NUMBER: _ClassVar[int]
    CHALLENGE_FIELD_NUMBER: _ClassVar[int]
    audit_head: _common_pb2.AuditHead
    challenge: bytes
    def __init__(self, audit_head: _Optional[_Union[_common_pb2.AuditHead, _Mapping]] = ..., challenge: _Optional[bytes] = ...) -> None: ...

class SubmitProofRequest(_message.Message):
    __slots__ = ("header", "chunk")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    header: ProofHeader
    chunk: _common_pb2.Chunk
    def __init__(self, header: _Optional[_Union[ProofHeader, _Mapping]] = ..., chunk: _Optional[_Union[_common_pb2.Chunk, _Mapping]] = ...) -> None: ...

class SubmitProofWholeRequest(_message.Message):
    __slots__ = ("header", "data")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    header: ProofHeader
    data: bytes
    def __init__(self, header: _Optional[_Union[ProofHeader, _Mapping]] = ..., data: _Optional[bytes] = ...) -> None: ...

class ProofHeader(_message.Message):
    __slots__ = ("session_id", "batch_id", "sha256")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    batch_id: int
    sha256: bytes
    def __init__(self, session_id: _Optional[str] = ..., batch_id: _Optional[int] = ..., sha256: _Optional[bytes] = ...) -> None: ...

class SubmitProofReply(_message.Message):
    __slots__ = ("audit_head",)
    AUDIT_HEAD_FIELD_NUMBER: _ClassVar[int]
    audit_head: _common_pb2.AuditHead
    def __init__(self, audit_head: _Optional[_Union[_common_pb2.AuditHead, _Mapping]] = ...) -> None: ...

class VerifyBallotsRequest(_message.Message):
    __slots__ = ("header", "party")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    PARTY_FIELD_NUMBER: _ClassVar[int]
    header: VerificationHeader
    party: PartyVerification
    def __init__(self, header: _Optional[_Union[VerificationHeader, _Mapping]] = ..., party: _Optional[_Union[PartyVerification, _Mapping]] = ...) -> None: ...

class VerifyBallotsWholeRequest(_message.Message):
    __slots__ = ("header", "parties")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    PARTIES_FIELD_NUMBER: _ClassVar[int]
    header: VerificationHeader
    parties: _containers.RepeatedCompositeFieldContainer[PartyVerification]
    def __init__(self, header: _Optional[_Union[VerificationHeader, _Mapping]] = ..., parties: _Optional[_Iterable[_Union[PartyVerification, _Mapping]]] = ...) -> None: ...

class VerificationHeader(_message.Message):
    __slots__ = ("session_id", "batch_id", "point_seed", "evaluation")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    POINT_SEED_FIELD_NUMBER: _ClassVar[int]
    EVALUATION_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    batch_id: int
    point_seed: bytes
    evaluation: _common_pb2.Signed
    def __init__(self, session_id: _Optional[str] = ..., batch_id: _Optional[int] = ..., point_seed: _Optional[bytes] = ..., evaluation: _Optional[_Union[_common_pb2.Signed, _Mapping]] = ...) -> None: ...

class PartyVerification(_message.Message):
    __slots__ = ("site", "commitment", "share")
    SITE_FIELD_NUMBER: _ClassVar[int]
    COMMITMENT_FIELD_NUMBER: _ClassVar[int]
    SHARE_FIELD_NUMBER: _ClassVar[int]
    site: str
    commitment: bytes
    share: bytes
    def __init__(self, site: _Optional[str] = ..., commitment: _Optional[bytes] = ..., share: _Optional[bytes] = ...) -> None: ...

class VerifyBallotsReply(_message.Message):
    __slots__ = ("refused",)
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    refused: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, refused: _Optional[_Iterable[str]] = ...) -> None: ...

class AttestBallotsRequest(_message.Message):
    __slots__ = ("attestation",)
    ATTESTATION_FIELD_NUMBER: _ClassVar[int]
    attestation: _common_pb2.Signed
    def __init__(self, attestation: _Optional[_Union[_common_pb2.Signed, _Mapping]] = ...) -> None: ...

class AttestBallotsReply(_message.Message):
    __slots__ = ("audit_head", "party_lied")
    AUDIT_HEAD_FIELD_NUMBER: _ClassVar[int]
    PARTY_LIED_FIELD_NUMBER: _ClassVar[int]
    audit_head: _common_pb2.AuditHead
    party_lied: bool
    def __init__(self, audit_head: _Optional[_Union[_common_pb2.AuditHead, _Mapping]] = ..., party_lied: _Optional[bool] = ...) -> None: ...

class RecordEvaluationRequest(_message.Message):
    __slots__ = ("session_id", "batch_id")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    batch_id: int
    def __init__(self, session_id: _Optional[str] = ..., batch_id: _Optional[int] = ...) -> None: ...

class RecordEvaluationReply(_message.Message):
    __slots__ = ("audit_head",)
    AUDIT_HEAD_FIELD_NUMBER: _ClassVar[int]
    audit_head: _common_pb2.AuditHead
    def __init__(self, audit_head: _Optional[_Union[_common_pb2.AuditHead, _Mapping]] = ...) -> None: ...

class PrepareRequest(_message.Message):
    __slots__ = ("session_id", "batch_id", "parties", "row_sum_key", "row_sums")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    PARTIES_FIELD_NUMBER: _ClassVar[int]
    ROW_SUM_KEY_FIELD_NUMBER: _ClassVar[int]
    ROW_SUMS_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    batch_id: int
    parties: _containers.RepeatedScalarFieldContainer[str]
    row_sum_key: bytes
    row_sums: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, session_id: _Optional[str] = ..., batch_id: _Optional[int] = ..., parties: _Optional[_Iterable[str]] = ..., row_sum_key: _Optional[bytes] = ..., row_sums: _Optional[_Iterable[bytes]] = ...) -> None: ...

class PrepareReply(_message.Message):
    __slots__ = ("frozen", "retry_after_ms", "refused")
    FROZEN_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_MS_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    frozen: _containers.RepeatedScalarFieldContainer[str]
    retry_after_ms: int
    refused: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, frozen: _Optional[_Iterable[str]] = ..., retry_after_ms: _Optional[int] = ..., refused: _Optional[_Iterable[str]] = ...) -> None: ...

class ReleaseRequest(_message.Message):
    __slots__ = ("header", "chunk")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    header: ReleaseHeader
    chunk: _common_pb2.Chunk
    def __init__(self, header: _Optional[_Union[ReleaseHeader, _Mapping]] = ..., chunk: _Optional[_Union[_common_pb2.Chunk, _Mapping]] = ...) -> None: ...

class ReleaseWholeRequest(_message.Message):
    __slots__ = ("header", "data")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    header: ReleaseHeader
    data: bytes
    def __init__(self, header: _Optional[_Union[ReleaseHeader, _Mapping]] = ..., data: _Optional[bytes] = ...) -> None: ...

class ReleaseHeader(_message.Message):
    __slots__ = ("session_id", "batch_id", "rows", "width", "sha256", "score_width")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    SCORE_WIDTH_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    batch_id: int
    rows: int
    width: int
    sha256: bytes
    score_width: int
    def __init__(self, session_id: _Optional[str] = ..., batch_id: _Optional[int] = ..., rows: _Optional[int] = ..., width: _Optional[int] = ..., sha256: _Optional[bytes] = ..., score_width: _Optional[int] = ...) -> None: ...

class ReleaseReply(_message.Message):
    __slots__ = ("answers", "update")
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    UPDATE_FIELD_NUMBER: _ClassVar[int]
    answers: _containers.RepeatedCompositeFieldContainer[Answer]
    update: _common_pb2.Chunk
    def __init__(self, answers: _Optional[_Iterable[_Union[Answer, _Mapping]]] = ..., update: _Optional[_Union[_common_pb2.Chunk, _Mapping]] = ...) -> None: ...

class Answer(_message.Message):
    __slots__ = ("answered", "label", "answered_labels", "positive_labels", "padding")
    ANSWERED_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_LABELS_FIELD_NUMBER: _ClassVar[int]
    POSITIVE_LABELS_FIELD_NUMBER: _ClassVar[int]
    PADDING_FIELD_NUMBER: _ClassVar[int]
    answered: bool
    label: int
    answered_labels: bytes
    positive_labels: bytes
    padding: bytes
    def __init__(self, answered: _Optional[bool] = ..., label: _Optional[int] = ..., answered_labels: _Optional[bytes] = ..., positive_labels: _Optional[bytes] = ..., padding: _Optional[bytes] = ...) -> None: ...

class BeginTallyRequest(_message.Message):
    __slots__ = ("session_id", "batch_id", "stage", "point")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    POINT_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    batch_id: int
    stage: _common_pb2.Stage
    point: bytes
    def __init__(self, session_id: _Optional[str] = ..., batch_id: _Optional[int] = ..., stage: _Optional[_Union[_common_pb2.Stage, str]] = ..., point: _Optional[bytes] = ...) -> None: ...

class BeginTallyReply(_message.Message):
    __slots__ = ("points",)
    POINTS_FIELD_NUMBER: _ClassVar[int]
    points: bytes
    def __init__(self, points: _Optional[bytes] = ...) -> None: ...

class OpenCheckReply(_message.Message):
    __slots__ = ("passed",)
    PASSED_FIELD_NUMBER: _ClassVar[int]
    passed: bytes
    def __init__(self, passed: _Optional[bytes] = ...) -> None: ...

class SettleBatchRequest(_message.Message):
    __slots__ = ("session_id", "batch_id")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    batch_id: int
    def __init__(self, session_id: _Optional[str] = ..., batch_id: _Optional[int] = ...) -> None: ...

class SettleBatchReply(_message.Message):
    __slots__ = ("released", "answers")
    RELEASED_FIELD_NUMBER: _ClassVar[int]
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    released: bool
    answers: _containers.RepeatedCompositeFieldContainer[Answer]
    def __init__(self, released: _Optional[bool] = ..., answers: _Optional[_Iterable[_Union[Answer, _Mapping]]] = ...) -> None: ...

class CloseSessionRequest(_message.Message):
    __slots__ = ("session_id",)
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    def __init__(self, session_id: _Optional[str] = ...) -> None: ...

class CloseSessionReply(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StandingRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StandingReply(_message.Message):
    __slots__ = ("state", "units", "sessions", "queries_left")
    STATE_FIELD_NUMBER: _ClassVar[int]
    UNITS_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    QUERIES_LEFT_FIELD_NUMBER: _ClassVar[int]
    state: str
    units: _containers.RepeatedCompositeFieldContainer[UnitStanding]
    sessions: _containers.RepeatedCompositeFieldContainer[SessionStanding]
    queries_left: int
    def __init__(self, state: _Optional[str] = ..., units: _Optional[_Iterable[_Union[UnitStanding, _Mapping]]] = ..., sessions: _Optional[_Iterable[_Union[SessionStanding, _Mapping]]] = ..., queries_left: _Optional[int] = ...) -> None: ...

class UnitStanding(_message.Message):
    __slots__ = ("group", "adjacency", "epsilon", "delta", "order", "epsilon_worst_case", "epsilon_reserved", "state")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    ADJACENCY_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    EPSILON_WORST_CASE_FIELD_NUMBER: _ClassVar[int]
    EPSILON_RESERVED_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    group: str
    adjacency: str
    epsilon: float
    delta: float
    order: float
    epsilon_worst_case: float
    epsilon_reserved: float
    state: str
    def __init__(self, group: _Optional[str] = ..., adjacency: _Optional[str] = ..., epsilon: _Optional[float] = ..., delta: _Optional[float] = ..., order: _Optional[float] = ..., epsilon_worst_case: _Optional[float] = ..., epsilon_reserved: _Optional[float] = ..., state: _Optional[str] = ...) -> None: ...

class SessionStanding(_message.Message):
    __slots__ = ("session_id", "state", "queries", "asked", "answered", "opened_unix_s")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    QUERIES_FIELD_NUMBER: _ClassVar[int]
    ASKED_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_FIELD_NUMBER: _ClassVar[int]
    OPENED_UNIX_S_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    state: str
    queries: int
    asked: int
    answered: int
    opened_unix_s: int
    def __init__(self, session_id: _Optional[str] = ..., state: _Optional[str] = ..., queries: _Optional[int] = ..., asked: _Optional[int] = ..., answered: _Optional[int] = ..., opened_unix_s: _Optional[int] = ...) -> None: ...
