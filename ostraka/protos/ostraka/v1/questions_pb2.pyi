from ostraka.protos.ostraka.v1 import limits_pb2 as _limits_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class FeatureMap(_message.Message):
    __slots__ = ("center", "scale", "constant", "cuts", "low", "high")
    CENTER_FIELD_NUMBER: _ClassVar[int]
    SCALE_FIELD_NUMBER: _ClassVar[int]
    CONSTANT_FIELD_NUMBER: _ClassVar[int]
    CUTS_FIELD_NUMBER: _ClassVar[int]
    LOW_FIELD_NUMBER: _ClassVar[int]
    HIGH_FIELD_NUMBER: _ClassVar[int]
    center: bytes
    scale: float
    constant: float
    cuts: _containers.RepeatedScalarFieldContainer[bytes]
    low: bytes
    high: bytes
    def __init__(self, center: _Optional[bytes] = ..., scale: _Optional[float] = ..., constant: _Optional[float] = ..., cuts: _Optional[_Iterable[bytes]] = ..., low: _Optional[bytes] = ..., high: _Optional[bytes] = ...) -> None: ...

class Codes(_message.Message):
    __slots__ = ("classes", "labels", "number")
    CLASSES_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    classes: ClassCodes
    labels: LabelCodes
    number: NumberCodes
    def __init__(self, classes: _Optional[_Union[ClassCodes, _Mapping]] = ..., labels: _Optional[_Union[LabelCodes, _Mapping]] = ..., number: _Optional[_Union[NumberCodes, _Mapping]] = ...) -> None: ...

class ClassCodes(_message.Message):
    __slots__ = ("vectors", "width")
    VECTORS_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    vectors: bytes
    width: int
    def __init__(self, vectors: _Optional[bytes] = ..., width: _Optional[int] = ...) -> None: ...

class LabelCodes(_message.Message):
    __slots__ = ("offsets", "scale")
    OFFSETS_FIELD_NUMBER: _ClassVar[int]
    SCALE_FIELD_NUMBER: _ClassVar[int]
    offsets: bytes
    scale: float
    def __init__(self, offsets: _Optional[bytes] = ..., scale: _Optional[float] = ...) -> None: ...

class NumberCodes(_message.Message):
    __slots__ = ("center", "scale")
    CENTER_FIELD_NUMBER: _ClassVar[int]
    SCALE_FIELD_NUMBER: _ClassVar[int]
    center: float
    scale: float
    def __init__(self, center: _Optional[float] = ..., scale: _Optional[float] = ...) -> None: ...

class Target(_message.Message):
    __slots__ = ("loss", "outputs", "center", "scale")
    LOSS_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    CENTER_FIELD_NUMBER: _ClassVar[int]
    SCALE_FIELD_NUMBER: _ClassVar[int]
    loss: str
    outputs: int
    center: float
    scale: float
    def __init__(self, loss: _Optional[str] = ..., outputs: _Optional[int] = ..., center: _Optional[float] = ..., scale: _Optional[float] = ...) -> None: ...

class MomentsQuestion(_message.Message):
    __slots__ = ("map", "codes", "gram")
    MAP_FIELD_NUMBER: _ClassVar[int]
    CODES_FIELD_NUMBER: _ClassVar[int]
    GRAM_FIELD_NUMBER: _ClassVar[int]
    map: FeatureMap
    codes: Codes
    gram: bool
    def __init__(self, map: _Optional[_Union[FeatureMap, _Mapping]] = ..., codes: _Optional[_Union[Codes, _Mapping]] = ..., gram: _Optional[bool] = ...) -> None: ...

class GradientQuestion(_message.Message):
    __slots__ = ("map", "target", "weights", "radius")
    MAP_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    RADIUS_FIELD_NUMBER: _ClassVar[int]
    map: FeatureMap
    target: Target
    weights: bytes
    radius: float
    def __init__(self, map: _Optional[_Union[FeatureMap, _Mapping]] = ..., target: _Optional[_Union[Target, _Mapping]] = ..., weights: _Optional[bytes] = ..., radius: _Optional[float] = ...) -> None: ...

class NetworkQuestion(_message.Message):
    __slots__ = ("network", "shape", "target", "parameters", "radius")
    NETWORK_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    RADIUS_FIELD_NUMBER: _ClassVar[int]
    network: str
    shape: _containers.RepeatedScalarFieldContainer[int]
    target: Target
    parameters: bytes
    radius: float
    def __init__(self, network: _Optional[str] = ..., shape: _Optional[_Iterable[int]] = ..., target: _Optional[_Union[Target, _Mapping]] = ..., parameters: _Optional[bytes] = ..., radius: _Optional[float] = ...) -> None: ...

class AdditiveTerm(_message.Message):
    __slots__ = ("feature", "cuts", "values", "indicators")
    FEATURE_FIELD_NUMBER: _ClassVar[int]
    CUTS_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    INDICATORS_FIELD_NUMBER: _ClassVar[int]
    feature: int
    cuts: bytes
    values: bytes
    indicators: int
    def __init__(self, feature: _Optional[int] = ..., cuts: _Optional[bytes] = ..., values: _Optional[bytes] = ..., indicators: _Optional[int] = ...) -> None: ...

class BoostQuestion(_message.Message):
    __slots__ = ("intercept", "terms", "target", "feature", "cuts", "bins", "radius", "indicators")
    INTERCEPT_FIELD_NUMBER: _ClassVar[int]
    TERMS_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    FEATURE_FIELD_NUMBER: _ClassVar[int]
    CUTS_FIELD_NUMBER: _ClassVar[int]
    BINS_FIELD_NUMBER: _ClassVar[int]
    RADIUS_FIELD_NUMBER: _ClassVar[int]
    INDICATORS_FIELD_NUMBER: _ClassVar[int]
    intercept: bytes
    terms: _containers.RepeatedCompositeFieldContainer[AdditiveTerm]
    target: Target
    feature: int
    cuts: bytes
    bins: int
    radius: float
    indicators: int
    def __init__(self, intercept: _Optional[bytes] = ..., terms: _Optional[_Iterable[_Union[AdditiveTerm, _Mapping]]] = ..., target: _Optional[_Union[Target, _Mapping]] = ..., feature: _Optional[int] = ..., cuts: _Optional[bytes] = ..., bins: _Optional[int] = ..., radius: _Optional[float] = ..., indicators: _Optional[int] = ...) -> None: ...

class ColumnStatistic(_message.Message):
    __slots__ = ("column", "low", "high", "bins")
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    LOW_FIELD_NUMBER: _ClassVar[int]
    HIGH_FIELD_NUMBER: _ClassVar[int]
    BINS_FIELD_NUMBER: _ClassVar[int]
    column: int
    low: float
    high: float
    bins: int
    def __init__(self, column: _Optional[int] = ..., low: _Optional[float] = ..., high: _Optional[float] = ..., bins: _Optional[int] = ...) -> None: ...

class Condition(_message.Message):
    __slots__ = ("column", "low", "high")
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    LOW_FIELD_NUMBER: _ClassVar[int]
    HIGH_FIELD_NUMBER: _ClassVar[int]
    column: int
    low: float
    high: float
    def __init__(self, column: _Optional[int] = ..., low: _Optional[float] = ..., high: _Optional[float] = ...) -> None: ...

class StatisticsQuestion(_message.Message):
    __slots__ = ("columns", "conditions")
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    CONDITIONS_FIELD_NUMBER: _ClassVar[int]
    columns: _containers.RepeatedCompositeFieldContainer[ColumnStatistic]
    conditions: _containers.RepeatedCompositeFieldContainer[Condition]
    def __init__(self, columns: _Optional[_Iterable[_Union[ColumnStatistic, _Mapping]]] = ..., conditions: _Optional[_Iterable[_Union[Condition, _Mapping]]] = ...) -> None: ...

class Question(_message.Message):
    __slots__ = ("moments", "gradient", "boost", "statistics", "network")
    MOMENTS_FIELD_NUMBER: _ClassVar[int]
    GRADIENT_FIELD_NUMBER: _ClassVar[int]
    BOOST_FIELD_NUMBER: _ClassVar[int]
    STATISTICS_FIELD_NUMBER: _ClassVar[int]
    NETWORK_FIELD_NUMBER: _ClassVar[int]
    moments: MomentsQuestion
    gradient: GradientQuestion
    boost: BoostQuestion
    statistics: StatisticsQuestion
    network: NetworkQuestion
    def __init__(self, moments: _Optional[_Union[MomentsQuestion, _Mapping]] = ..., gradient: _Optional[_Union[GradientQuestion, _Mapping]] = ..., boost: _Optional[_Union[BoostQuestion, _Mapping]] = ..., statistics: _Optional[_Union[StatisticsQuestion, _Mapping]] = ..., network: _Optional[_Union[NetworkQuestion, _Mapping]] = ...) -> None: ...
