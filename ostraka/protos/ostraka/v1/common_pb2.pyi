from ostraka.protos.ostraka.v1 import limits_pb2 as _limits_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class BaseTransfers(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BASE_TRANSFERS_ED25519: _ClassVar[BaseTransfers]
    BASE_TRANSFERS_ML_KEM: _ClassVar[BaseTransfers]

class Tally(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TALLY_UNSPECIFIED: _ClassVar[Tally]
    TALLY_AGGREGATE: _ClassVar[Tally]
    TALLY_BLIND: _ClassVar[Tally]

class Encoding(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ENCODING_UNSPECIFIED: _ClassVar[Encoding]
    ENCODING_PLAIN: _ClassVar[Encoding]
    ENCODING_CKKS: _ClassVar[Encoding]

class Stage(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STAGE_UNSPECIFIED: _ClassVar[Stage]
    STAGE_BALLOTS: _ClassVar[Stage]
    STAGE_CHECK: _ClassVar[Stage]
    STAGE_ANSWERS: _ClassVar[Stage]
BASE_TRANSFERS_ED25519: BaseTransfers
BASE_TRANSFERS_ML_KEM: BaseTransfers
TALLY_UNSPECIFIED: Tally
TALLY_AGGREGATE: Tally
TALLY_BLIND: Tally
ENCODING_UNSPECIFIED: Encoding
ENCODING_PLAIN: Encoding
ENCODING_CKKS: Encoding
STAGE_UNSPECIFIED: Stage
STAGE_BALLOTS: Stage
STAGE_CHECK: Stage
STAGE_ANSWERS: Stage

class GnMax(_message.Message):
    __slots__ = ("sigma",)
    SIGMA_FIELD_NUMBER: _ClassVar[int]
    sigma: float
    def __init__(self, sigma: _Optional[float] = ...) -> None: ...

class DistributedGnMax(_message.Message):
    __slots__ = ("sigma", "honest")
    SIGMA_FIELD_NUMBER: _ClassVar[int]
    HONEST_FIELD_NUMBER: _ClassVar[int]
    sigma: float
    honest: int
    def __init__(self, sigma: _Optional[float] = ..., honest: _Optional[int] = ...) -> None: ...

class Confident(_message.Message):
    __slots__ = ("sigma1", "sigma2", "threshold")
    SIGMA1_FIELD_NUMBER: _ClassVar[int]
    SIGMA2_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    sigma1: float
    sigma2: float
    threshold: float
    def __init__(self, sigma1: _Optional[float] = ..., sigma2: _Optional[float] = ..., threshold: _Optional[float] = ...) -> None: ...

class Interactive(_message.Message):
    __slots__ = ("sigma1", "sigma2", "threshold", "confidence")
    SIGMA1_FIELD_NUMBER: _ClassVar[int]
    SIGMA2_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    sigma1: float
    sigma2: float
    threshold: float
    confidence: float
    def __init__(self, sigma1: _Optional[float] = ..., sigma2: _Optional[float] = ..., threshold: _Optional[float] = ..., confidence: _Optional[float] = ...) -> None: ...

class LnMax(_message.Message):
    __slots__ = ("gamma",)
    GAMMA_FIELD_NUMBER: _ClassVar[int]
    gamma: float
    def __init__(self, gamma: _Optional[float] = ...) -> None: ...

class Threshold(_message.Message):
    __slots__ = ("sigma", "share")
    SIGMA_FIELD_NUMBER: _ClassVar[int]
    SHARE_FIELD_NUMBER: _ClassVar[int]
    sigma: float
    share: float
    def __init__(self, sigma: _Optional[float] = ..., share: _Optional[float] = ...) -> None: ...

class Check(_message.Message):
    __slots__ = ("sigma", "threshold")
    SIGMA_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    sigma: float
    threshold: float
    def __init__(self, sigma: _Optional[float] = ..., threshold: _Optional[float] = ...) -> None: ...

class Binary(_message.Message):
    __slots__ = ("sigma", "check")
    SIGMA_FIELD_NUMBER: _ClassVar[int]
    CHECK_FIELD_NUMBER: _ClassVar[int]
    sigma: float
    check: Check
    def __init__(self, sigma: _Optional[float] = ..., check: _Optional[_Union[Check, _Mapping]] = ...) -> None: ...

class Tau(_message.Message):
    __slots__ = ("sigma", "tau", "check")
    SIGMA_FIELD_NUMBER: _ClassVar[int]
    TAU_FIELD_NUMBER: _ClassVar[int]
    CHECK_FIELD_NUMBER: _ClassVar[int]
    sigma: float
    tau: float
    check: Check
    def __init__(self, sigma: _Optional[float] = ..., tau: _Optional[float] = ..., check: _Optional[_Union[Check, _Mapping]] = ...) -> None: ...

class L1(_message.Message):
    __slots__ = ("sigma", "tau1", "check")
    SIGMA_FIELD_NUMBER: _ClassVar[int]
    TAU1_FIELD_NUMBER: _ClassVar[int]
    CHECK_FIELD_NUMBER: _ClassVar[int]
    sigma: float
    tau1: float
    check: Check
    def __init__(self, sigma: _Optional[float] = ..., tau1: _Optional[float] = ..., check: _Optional[_Union[Check, _Mapping]] = ...) -> None: ...

class Powerset(_message.Message):
    __slots__ = ("sigma", "max_positives", "check")
    SIGMA_FIELD_NUMBER: _ClassVar[int]
    MAX_POSITIVES_FIELD_NUMBER: _ClassVar[int]
    CHECK_FIELD_NUMBER: _ClassVar[int]
    sigma: float
    max_positives: int
    check: Check
    def __init__(self, sigma: _Optional[float] = ..., max_positives: _Optional[int] = ..., check: _Optional[_Union[Check, _Mapping]] = ...) -> None: ...

class NoiseCluster(_message.Message):
    __slots__ = ("sigma",)
    SIGMA_FIELD_NUMBER: _ClassVar[int]
    sigma: float
    def __init__(self, sigma: _Optional[float] = ...) -> None: ...

class RandRes(_message.Message):
    __slots__ = ("epsilon",)
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    epsilon: float
    def __init__(self, epsilon: _Optional[float] = ...) -> None: ...

class RandResLabels(_message.Message):
    __slots__ = ("epsilon",)
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    epsilon: float
    def __init__(self, epsilon: _Optional[float] = ...) -> None: ...

class Recipe(_message.Message):
    __slots__ = ("model", "parameters", "steps", "batch_size", "learning_rate", "decay", "average_rate")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    BATCH_SIZE_FIELD_NUMBER: _ClassVar[int]
    LEARNING_RATE_FIELD_NUMBER: _ClassVar[int]
    DECAY_FIELD_NUMBER: _ClassVar[int]
    AVERAGE_RATE_FIELD_NUMBER: _ClassVar[int]
    model: str
    parameters: int
    steps: int
    batch_size: int
    learning_rate: float
    decay: float
    average_rate: float
    def __init__(self, model: _Optional[str] = ..., parameters: _Optional[int] = ..., steps: _Optional[int] = ..., batch_size: _Optional[int] = ..., learning_rate: _Optional[float] = ..., decay: _Optional[float] = ..., average_rate: _Optional[float] = ...) -> None: ...

class Ttac(_message.Message):
    __slots__ = ("recipe",)
    RECIPE_FIELD_NUMBER: _ClassVar[int]
    recipe: Recipe
    def __init__(self, recipe: _Optional[_Union[Recipe, _Mapping]] = ...) -> None: ...

class DpTtac(_message.Message):
    __slots__ = ("recipe", "clip", "radius", "sigma")
    RECIPE_FIELD_NUMBER: _ClassVar[int]
    CLIP_FIELD_NUMBER: _ClassVar[int]
    RADIUS_FIELD_NUMBER: _ClassVar[int]
    SIGMA_FIELD_NUMBER: _ClassVar[int]
    recipe: Recipe
    clip: str
    radius: float
    sigma: float
    def __init__(self, recipe: _Optional[_Union[Recipe, _Mapping]] = ..., clip: _Optional[str] = ..., radius: _Optional[float] = ..., sigma: _Optional[float] = ...) -> None: ...

class Moments(_message.Message):
    __slots__ = ("columns", "codes", "sigma", "gram_sigma")
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    CODES_FIELD_NUMBER: _ClassVar[int]
    SIGMA_FIELD_NUMBER: _ClassVar[int]
    GRAM_SIGMA_FIELD_NUMBER: _ClassVar[int]
    columns: int
    codes: int
    sigma: float
    gram_sigma: float
    def __init__(self, columns: _Optional[int] = ..., codes: _Optional[int] = ..., sigma: _Optional[float] = ..., gram_sigma: _Optional[float] = ...) -> None: ...

class Bins(_message.Message):
    __slots__ = ("columns", "codes", "sigma", "gram_sigma")
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    CODES_FIELD_NUMBER: _ClassVar[int]
    SIGMA_FIELD_NUMBER: _ClassVar[int]
    GRAM_SIGMA_FIELD_NUMBER: _ClassVar[int]
    columns: int
    codes: int
    sigma: float
    gram_sigma: float
    def __init__(self, columns: _Optional[int] = ..., codes: _Optional[int] = ..., sigma: _Optional[float] = ..., gram_sigma: _Optional[float] = ...) -> None: ...

class Boost(_message.Message):
    __slots__ = ("bins", "outputs", "sigma")
    BINS_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    SIGMA_FIELD_NUMBER: _ClassVar[int]
    bins: int
    outputs: int
    sigma: float
    def __init__(self, bins: _Optional[int] = ..., outputs: _Optional[int] = ..., sigma: _Optional[float] = ...) -> None: ...

class Gradients(_message.Message):
    __slots__ = ("parameters", "sigma")
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    SIGMA_FIELD_NUMBER: _ClassVar[int]
    parameters: int
    sigma: float
    def __init__(self, parameters: _Optional[int] = ..., sigma: _Optional[float] = ...) -> None: ...

class Statistics(_message.Message):
    __slots__ = ("cells", "columns", "sigma")
    CELLS_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    SIGMA_FIELD_NUMBER: _ClassVar[int]
    cells: int
    columns: int
    sigma: float
    def __init__(self, cells: _Optional[int] = ..., columns: _Optional[int] = ..., sigma: _Optional[float] = ...) -> None: ...

class Mechanism(_message.Message):
    __slots__ = ("gnmax", "confident", "interactive", "lnmax", "binary", "tau", "l1", "powerset", "noise_cluster", "ttac", "dp_ttac", "rand_res", "installed", "rand_res_labels", "moments", "bins", "boost", "gradients", "statistics", "threshold", "distributed_gnmax")
    GNMAX_FIELD_NUMBER: _ClassVar[int]
    CONFIDENT_FIELD_NUMBER: _ClassVar[int]
    INTERACTIVE_FIELD_NUMBER: _ClassVar[int]
    LNMAX_FIELD_NUMBER: _ClassVar[int]
    BINARY_FIELD_NUMBER: _ClassVar[int]
    TAU_FIELD_NUMBER: _ClassVar[int]
    L1_FIELD_NUMBER: _ClassVar[int]
    POWERSET_FIELD_NUMBER: _ClassVar[int]
    NOISE_CLUSTER_FIELD_NUMBER: _ClassVar[int]
    TTAC_FIELD_NUMBER: _ClassVar[int]
    DP_TTAC_FIELD_NUMBER: _ClassVar[int]
    RAND_RES_FIELD_NUMBER: _ClassVar[int]
    INSTALLED_FIELD_NUMBER: _ClassVar[int]
    RAND_RES_LABELS_FIELD_NUMBER: _ClassVar[int]
    MOMENTS_FIELD_NUMBER: _ClassVar[int]
    BINS_FIELD_NUMBER: _ClassVar[int]
    BOOST_FIELD_NUMBER: _ClassVar[int]
    GRADIENTS_FIELD_NUMBER: _ClassVar[int]
    STATISTICS_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    DISTRIBUTED_GNMAX_FIELD_NUMBER: _ClassVar[int]
    gnmax: GnMax
    confident: Confident
    interactive: Interactive
    lnmax: LnMax
    binary: Binary
    tau: Tau
    l1: L1
    powerset: Powerset
    noise_cluster: NoiseCluster
    ttac: Ttac
    dp_ttac: DpTtac
    rand_res: RandRes
    installed: InstalledMechanism
    rand_res_labels: RandResLabels
    moments: Moments
    bins: Bins
    boost: Boost
    gradients: Gradients
    statistics: Statistics
    threshold: Threshold
    distributed_gnmax: DistributedGnMax
    def __init__(self, gnmax: _Optional[_Union[GnMax, _Mapping]] = ..., confident: _Optional[_Union[Confident, _Mapping]] = ..., interactive: _Optional[_Union[Interactive, _Mapping]] = ..., lnmax: _Optional[_Union[LnMax, _Mapping]] = ..., binary: _Optional[_Union[Binary, _Mapping]] = ..., tau: _Optional[_Union[Tau, _Mapping]] = ..., l1: _Optional[_Union[L1, _Mapping]] = ..., powerset: _Optional[_Union[Powerset, _Mapping]] = ..., noise_cluster: _Optional[_Union[NoiseCluster, _Mapping]] = ..., ttac: _Optional[_Union[Ttac, _Mapping]] = ..., dp_ttac: _Optional[_Union[DpTtac, _Mapping]] = ..., rand_res: _Optional[_Union[RandRes, _Mapping]] = ..., installed: _Optional[_Union[InstalledMechanism, _Mapping]] = ..., rand_res_labels: _Optional[_Union[RandResLabels, _Mapping]] = ..., moments: _Optional[_Union[Moments, _Mapping]] = ..., bins: _Optional[_Union[Bins, _Mapping]] = ..., boost: _Optional[_Union[Boost, _Mapping]] = ..., gradients: _Optional[_Union[Gradients, _Mapping]] = ..., statistics: _Optional[_Union[Statistics, _Mapping]] = ..., threshold: _Optional[_Union[Threshold, _Mapping]] = ..., distributed_gnmax: _Optional[_Union[DistributedGnMax, _Mapping]] = ...) -> None: ...

class InstalledMechanism(_message.Message):
    __slots__ = ("kind", "parameters")
    KIND_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    kind: str
    parameters: str
    def __init__(self, kind: _Optional[str] = ..., parameters: _Optional[str] = ...) -> None: ...

class Plan(_message.Message):
    __slots__ = ("nonce", "task_digest", "classes", "multi_label", "mechanism", "tally", "encoding", "parties", "quorum", "queries", "batch_size", "ring_bits", "fraction_bits", "adjacency", "variant", "encoder", "encoder_sha256", "labels", "base_transfers")
    NONCE_FIELD_NUMBER: _ClassVar[int]
    TASK_DIGEST_FIELD_NUMBER: _ClassVar[int]
    CLASSES_FIELD_NUMBER: _ClassVar[int]
    MULTI_LABEL_FIELD_NUMBER: _ClassVar[int]
    MECHANISM_FIELD_NUMBER: _ClassVar[int]
    TALLY_FIELD_NUMBER: _ClassVar[int]
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    PARTIES_FIELD_NUMBER: _ClassVar[int]
    QUORUM_FIELD_NUMBER: _ClassVar[int]
    QUERIES_FIELD_NUMBER: _ClassVar[int]
    BATCH_SIZE_FIELD_NUMBER: _ClassVar[int]
    RING_BITS_FIELD_NUMBER: _ClassVar[int]
    FRACTION_BITS_FIELD_NUMBER: _ClassVar[int]
    ADJACENCY_FIELD_NUMBER: _ClassVar[int]
    VARIANT_FIELD_NUMBER: _ClassVar[int]
    ENCODER_FIELD_NUMBER: _ClassVar[int]
    ENCODER_SHA256_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    BASE_TRANSFERS_FIELD_NUMBER: _ClassVar[int]
    nonce: bytes
    task_digest: bytes
    classes: int
    multi_label: bool
    mechanism: Mechanism
    tally: Tally
    encoding: Encoding
    parties: _containers.RepeatedScalarFieldContainer[str]
    quorum: int
    queries: int
    batch_size: int
    ring_bits: int
    fraction_bits: int
    adjacency: str
    variant: str
    encoder: str
    encoder_sha256: bytes
    labels: _containers.RepeatedScalarFieldContainer[int]
    base_transfers: BaseTransfers
    def __init__(self, nonce: _Optional[bytes] = ..., task_digest: _Optional[bytes] = ..., classes: _Optional[int] = ..., multi_label: _Optional[bool] = ..., mechanism: _Optional[_Union[Mechanism, _Mapping]] = ..., tally: _Optional[_Union[Tally, str]] = ..., encoding: _Optional[_Union[Encoding, str]] = ..., parties: _Optional[_Iterable[str]] = ..., quorum: _Optional[int] = ..., queries: _Optional[int] = ..., batch_size: _Optional[int] = ..., ring_bits: _Optional[int] = ..., fraction_bits: _Optional[int] = ..., adjacency: _Optional[str] = ..., variant: _Optional[str] = ..., encoder: _Optional[str] = ..., encoder_sha256: _Optional[bytes] = ..., labels: _Optional[_Iterable[int]] = ..., base_transfers: _Optional[_Union[BaseTransfers, str]] = ...) -> None: ...

class Participant(_message.Message):
    __slots__ = ("site", "teachers", "records", "max_votes_per_person", "manifest_sha256", "cohorts", "head", "together", "abstains", "shared_features", "whole_persons")
    SITE_FIELD_NUMBER: _ClassVar[int]
    TEACHERS_FIELD_NUMBER: _ClassVar[int]
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    MAX_VOTES_PER_PERSON_FIELD_NUMBER: _ClassVar[int]
    MANIFEST_SHA256_FIELD_NUMBER: _ClassVar[int]
    COHORTS_FIELD_NUMBER: _ClassVar[int]
    HEAD_FIELD_NUMBER: _ClassVar[int]
    TOGETHER_FIELD_NUMBER: _ClassVar[int]
    ABSTAINS_FIELD_NUMBER: _ClassVar[int]
    SHARED_FEATURES_FIELD_NUMBER: _ClassVar[int]
    WHOLE_PERSONS_FIELD_NUMBER: _ClassVar[int]
    site: str
    teachers: int
    records: int
    max_votes_per_person: int
    manifest_sha256: bytes
    cohorts: _containers.RepeatedCompositeFieldContainer[Cohort]
    head: str
    together: str
    abstains: _containers.RepeatedScalarFieldContainer[int]
    shared_features: bool
    whole_persons: bool
    def __init__(self, site: _Optional[str] = ..., teachers: _Optional[int] = ..., records: _Optional[int] = ..., max_votes_per_person: _Optional[int] = ..., manifest_sha256: _Optional[bytes] = ..., cohorts: _Optional[_Iterable[_Union[Cohort, _Mapping]]] = ..., head: _Optional[str] = ..., together: _Optional[str] = ..., abstains: _Optional[_Iterable[int]] = ..., shared_features: _Optional[bool] = ..., whole_persons: _Optional[bool] = ...) -> None: ...

class Cohort(_message.Message):
    __slots__ = ("groups", "teachers", "weight", "copies", "records")
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    TEACHERS_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    COPIES_FIELD_NUMBER: _ClassVar[int]
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    groups: _containers.RepeatedScalarFieldContainer[str]
    teachers: int
    weight: int
    copies: _containers.RepeatedScalarFieldContainer[int]
    records: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, groups: _Optional[_Iterable[str]] = ..., teachers: _Optional[int] = ..., weight: _Optional[int] = ..., copies: _Optional[_Iterable[int]] = ..., records: _Optional[_Iterable[int]] = ...) -> None: ...

class Grant(_message.Message):
    __slots__ = ("session_id", "plan_digest", "querier", "key_id", "protocol_version", "ring_bits", "participants", "max_batch", "max_queries", "not_before_unix_s", "expires_unix_s", "allowed_skew_s", "enforce", "bound", "listed", "teachers")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    PLAN_DIGEST_FIELD_NUMBER: _ClassVar[int]
    QUERIER_FIELD_NUMBER: _ClassVar[int]
    KEY_ID_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_VERSION_FIELD_NUMBER: _ClassVar[int]
    RING_BITS_FIELD_NUMBER: _ClassVar[int]
    PARTICIPANTS_FIELD_NUMBER: _ClassVar[int]
    MAX_BATCH_FIELD_NUMBER: _ClassVar[int]
    MAX_QUERIES_FIELD_NUMBER: _ClassVar[int]
    NOT_BEFORE_UNIX_S_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_UNIX_S_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_SKEW_S_FIELD_NUMBER: _ClassVar[int]
    ENFORCE_FIELD_NUMBER: _ClassVar[int]
    BOUND_FIELD_NUMBER: _ClassVar[int]
    LISTED_FIELD_NUMBER: _ClassVar[int]
    TEACHERS_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    plan_digest: bytes
    querier: str
    key_id: bytes
    protocol_version: str
    ring_bits: int
    participants: _containers.RepeatedCompositeFieldContainer[Participant]
    max_batch: int
    max_queries: int
    not_before_unix_s: int
    expires_unix_s: int
    allowed_skew_s: int
    enforce: str
    bound: str
    listed: ListDigest
    teachers: int
    def __init__(self, session_id: _Optional[str] = ..., plan_digest: _Optional[bytes] = ..., querier: _Optional[str] = ..., key_id: _Optional[bytes] = ..., protocol_version: _Optional[str] = ..., ring_bits: _Optional[int] = ..., participants: _Optional[_Iterable[_Union[Participant, _Mapping]]] = ..., max_batch: _Optional[int] = ..., max_queries: _Optional[int] = ..., not_before_unix_s: _Optional[int] = ..., expires_unix_s: _Optional[int] = ..., allowed_skew_s: _Optional[int] = ..., enforce: _Optional[str] = ..., bound: _Optional[str] = ..., listed: _Optional[_Union[ListDigest, _Mapping]] = ..., teachers: _Optional[int] = ...) -> None: ...

class Ticket(_message.Message):
    __slots__ = ("session_id", "batch_id", "size", "schedule", "freeze_unix_ms", "expires_unix_ms", "listed")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    FREEZE_UNIX_MS_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_UNIX_MS_FIELD_NUMBER: _ClassVar[int]
    LISTED_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    batch_id: int
    size: int
    schedule: _containers.RepeatedCompositeFieldContainer[Schedule]
    freeze_unix_ms: int
    expires_unix_ms: int
    listed: ListDigest
    def __init__(self, session_id: _Optional[str] = ..., batch_id: _Optional[int] = ..., size: _Optional[int] = ..., schedule: _Optional[_Iterable[_Union[Schedule, _Mapping]]] = ..., freeze_unix_ms: _Optional[int] = ..., expires_unix_ms: _Optional[int] = ..., listed: _Optional[_Union[ListDigest, _Mapping]] = ...) -> None: ...

class Schedule(_message.Message):
    __slots__ = ("participant", "queries")
    PARTICIPANT_FIELD_NUMBER: _ClassVar[int]
    QUERIES_FIELD_NUMBER: _ClassVar[int]
    participant: Participant
    queries: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, participant: _Optional[_Union[Participant, _Mapping]] = ..., queries: _Optional[_Iterable[bytes]] = ...) -> None: ...

class Manifest(_message.Message):
    __slots__ = ("site", "task_digest", "groups", "max_votes_per_person", "training", "mixed", "head", "encoder", "encoder_sha256", "together", "abstains", "shared_features", "whole_persons")
    SITE_FIELD_NUMBER: _ClassVar[int]
    TASK_DIGEST_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    MAX_VOTES_PER_PERSON_FIELD_NUMBER: _ClassVar[int]
    TRAINING_FIELD_NUMBER: _ClassVar[int]
    MIXED_FIELD_NUMBER: _ClassVar[int]
    HEAD_FIELD_NUMBER: _ClassVar[int]
    ENCODER_FIELD_NUMBER: _ClassVar[int]
    ENCODER_SHA256_FIELD_NUMBER: _ClassVar[int]
    TOGETHER_FIELD_NUMBER: _ClassVar[int]
    ABSTAINS_FIELD_NUMBER: _ClassVar[int]
    SHARED_FEATURES_FIELD_NUMBER: _ClassVar[int]
    WHOLE_PERSONS_FIELD_NUMBER: _ClassVar[int]
    site: str
    task_digest: bytes
    groups: _containers.RepeatedCompositeFieldContainer[Group]
    max_votes_per_person: int
    training: str
    mixed: bool
    head: str
    encoder: str
    encoder_sha256: bytes
    together: str
    abstains: _containers.RepeatedScalarFieldContainer[int]
    shared_features: bool
    whole_persons: bool
    def __init__(self, site: _Optional[str] = ..., task_digest: _Optional[bytes] = ..., groups: _Optional[_Iterable[_Union[Group, _Mapping]]] = ..., max_votes_per_person: _Optional[int] = ..., training: _Optional[str] = ..., mixed: _Optional[bool] = ..., head: _Optional[str] = ..., encoder: _Optional[str] = ..., encoder_sha256: _Optional[bytes] = ..., together: _Optional[str] = ..., abstains: _Optional[_Iterable[int]] = ..., shared_features: _Optional[bool] = ..., whole_persons: _Optional[bool] = ...) -> None: ...

class Group(_message.Message):
    __slots__ = ("name", "records", "teachers", "copies", "summed_records")
    NAME_FIELD_NUMBER: _ClassVar[int]
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    TEACHERS_FIELD_NUMBER: _ClassVar[int]
    COPIES_FIELD_NUMBER: _ClassVar[int]
    SUMMED_RECORDS_FIELD_NUMBER: _ClassVar[int]
    name: str
    records: int
    teachers: int
    copies: int
    summed_records: int
    def __init__(self, name: _Optional[str] = ..., records: _Optional[int] = ..., teachers: _Optional[int] = ..., copies: _Optional[int] = ..., summed_records: _Optional[int] = ...) -> None: ...

class Agreement(_message.Message):
    __slots__ = ("site", "group", "adjacency", "action", "epsilon_before", "epsilon", "number")
    SITE_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    ADJACENCY_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    EPSILON_BEFORE_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    site: str
    group: str
    adjacency: str
    action: str
    epsilon_before: float
    epsilon: float
    number: int
    def __init__(self, site: _Optional[str] = ..., group: _Optional[str] = ..., adjacency: _Optional[str] = ..., action: _Optional[str] = ..., epsilon_before: _Optional[float] = ..., epsilon: _Optional[float] = ..., number: _Optional[int] = ...) -> None: ...

class Receipts(_message.Message):
    __slots__ = ("site", "receipts", "declared_votes")
    SITE_FIELD_NUMBER: _ClassVar[int]
    RECEIPTS_FIELD_NUMBER: _ClassVar[int]
    DECLARED_VOTES_FIELD_NUMBER: _ClassVar[int]
    site: str
    receipts: _containers.RepeatedCompositeFieldContainer[Receipt]
    declared_votes: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, site: _Optional[str] = ..., receipts: _Optional[_Iterable[_Union[Receipt, _Mapping]]] = ..., declared_votes: _Optional[_Iterable[int]] = ...) -> None: ...

class Receipt(_message.Message):
    __slots__ = ("session_id", "batch_id", "group", "mechanism", "classes", "adjacency", "queries", "sensitivity")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    MECHANISM_FIELD_NUMBER: _ClassVar[int]
    CLASSES_FIELD_NUMBER: _ClassVar[int]
    ADJACENCY_FIELD_NUMBER: _ClassVar[int]
    QUERIES_FIELD_NUMBER: _ClassVar[int]
    SENSITIVITY_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    batch_id: int
    group: str
    mechanism: Mechanism
    classes: int
    adjacency: str
    queries: int
    sensitivity: float
    def __init__(self, session_id: _Optional[str] = ..., batch_id: _Optional[int] = ..., group: _Optional[str] = ..., mechanism: _Optional[_Union[Mechanism, _Mapping]] = ..., classes: _Optional[int] = ..., adjacency: _Optional[str] = ..., queries: _Optional[int] = ..., sensitivity: _Optional[float] = ...) -> None: ...

class Signed(_message.Message):
    __slots__ = ("payload", "signature", "certificate_der")
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    CERTIFICATE_DER_FIELD_NUMBER: _ClassVar[int]
    payload: bytes
    signature: bytes
    certificate_der: bytes
    def __init__(self, payload: _Optional[bytes] = ..., signature: _Optional[bytes] = ..., certificate_der: _Optional[bytes] = ...) -> None: ...

class ListDigest(_message.Message):
    __slots__ = ("root", "count")
    ROOT_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    root: bytes
    count: int
    def __init__(self, root: _Optional[bytes] = ..., count: _Optional[int] = ...) -> None: ...

class SignedList(_message.Message):
    __slots__ = ("signed", "entries")
    SIGNED_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    signed: Signed
    entries: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, signed: _Optional[_Union[Signed, _Mapping]] = ..., entries: _Optional[_Iterable[bytes]] = ...) -> None: ...

class SignedEntry(_message.Message):
    __slots__ = ("signed", "entry", "index", "path")
    SIGNED_FIELD_NUMBER: _ClassVar[int]
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    signed: Signed
    entry: bytes
    index: int
    path: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, signed: _Optional[_Union[Signed, _Mapping]] = ..., entry: _Optional[bytes] = ..., index: _Optional[int] = ..., path: _Optional[_Iterable[bytes]] = ...) -> None: ...

class Evaluation(_message.Message):
    __slots__ = ("session_id", "batch_id", "point_seed")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    POINT_SEED_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    batch_id: int
    point_seed: bytes
    def __init__(self, session_id: _Optional[str] = ..., batch_id: _Optional[int] = ..., point_seed: _Optional[bytes] = ...) -> None: ...

class Attestation(_message.Message):
    __slots__ = ("session_id", "batch_id", "sha256")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    batch_id: int
    sha256: bytes
    def __init__(self, session_id: _Optional[str] = ..., batch_id: _Optional[int] = ..., sha256: _Optional[bytes] = ...) -> None: ...

class Chunk(_message.Message):
    __slots__ = ("data",)
    DATA_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    def __init__(self, data: _Optional[bytes] = ...) -> None: ...

class Step(_message.Message):
    __slots__ = ("header", "chunk")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    header: StepHeader
    chunk: Chunk
    def __init__(self, header: _Optional[_Union[StepHeader, _Mapping]] = ..., chunk: _Optional[_Union[Chunk, _Mapping]] = ...) -> None: ...

class StepHeader(_message.Message):
    __slots__ = ("session_id", "batch_id", "stage", "bytes", "sha256")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    batch_id: int
    stage: Stage
    bytes: int
    sha256: bytes
    def __init__(self, session_id: _Optional[str] = ..., batch_id: _Optional[int] = ..., stage: _Optional[_Union[Stage, str]] = ..., bytes: _Optional[int] = ..., sha256: _Optional[bytes] = ...) -> None: ...

class AuditHead(_message.Message):
    __slots__ = ("sequence", "hash", "signed")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    SIGNED_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    hash: bytes
    signed: Signed
    def __init__(self, sequence: _Optional[int] = ..., hash: _Optional[bytes] = ..., signed: _Optional[_Union[Signed, _Mapping]] = ...) -> None: ...
