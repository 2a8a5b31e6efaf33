from ostraka.protos.ostraka.v1 import common_pb2 as _common_pb2
from ostraka.protos.ostraka.v1 import limits_pb2 as _limits_pb2
from ostraka.protos.ostraka.v1 import party_pb2 as _party_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class JoinRequest(_message.Message):
    __slots__ = ("kind",)
    KIND_FIELD_NUMBER: _ClassVar[int]
    kind: str
    def __init__(self, kind: _Optional[str] = ...) -> None: ...

class JoinReply(_message.Message):
    __slots__ = ("header", "chunk")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    header: JoinHeader
    chunk: _common_pb2.Chunk
    def __init__(self, header: _Optional[_Union[JoinHeader, _Mapping]] = ..., chunk: _Optional[_Union[_common_pb2.Chunk, _Mapping]] = ...) -> None: ...

class JoinHeader(_message.Message):
    __slots__ = ("model", "parameters", "task_digest", "sha256")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    TASK_DIGEST_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    model: str
    parameters: int
    task_digest: bytes
    sha256: bytes
    def __init__(self, model: _Optional[str] = ..., parameters: _Optional[int] = ..., task_digest: _Optional[bytes] = ..., sha256: _Optional[bytes] = ...) -> None: ...

class TrainRequest(_message.Message):
    __slots__ = ("header", "chunk")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    header: TrainHeader
    chunk: _common_pb2.Chunk
    def __init__(self, header: _Optional[_Union[TrainHeader, _Mapping]] = ..., chunk: _Optional[_Union[_common_pb2.Chunk, _Mapping]] = ...) -> None: ...

class TrainHeader(_message.Message):
    __slots__ = ("plan", "grant", "ticket", "round", "counted", "sha256")
    PLAN_FIELD_NUMBER: _ClassVar[int]
    GRANT_FIELD_NUMBER: _ClassVar[int]
    TICKET_FIELD_NUMBER: _ClassVar[int]
    ROUND_FIELD_NUMBER: _ClassVar[int]
    COUNTED_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    plan: bytes
    grant: _common_pb2.SignedEntry
    ticket: _common_pb2.SignedEntry
    round: int
    counted: int
    sha256: bytes
    def __init__(self, plan: _Optional[bytes] = ..., grant: _Optional[_Union[_common_pb2.SignedEntry, _Mapping]] = ..., ticket: _Optional[_Union[_common_pb2.SignedEntry, _Mapping]] = ..., round: _Optional[int] = ..., counted: _Optional[int] = ..., sha256: _Optional[bytes] = ...) -> None: ...

class FinishReply(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
