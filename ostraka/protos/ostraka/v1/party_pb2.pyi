from ostraka.protos.ostraka.v1 import common_pb2 as _common_pb2
from ostraka.protos.ostraka.v1 import limits_pb2 as _limits_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class BeginRequest(_message.Message):
    __slots__ = ("plan", "grant", "ticket", "point")
    PLAN_FIELD_NUMBER: _ClassVar[int]
    GRANT_FIELD_NUMBER: _ClassVar[int]
    TICKET_FIELD_NUMBER: _ClassVar[int]
    POINT_FIELD_NUMBER: _ClassVar[int]
    plan: bytes
    grant: _common_pb2.SignedEntry
    ticket: _common_pb2.SignedEntry
    point: bytes
    def __init__(self, plan: _Optional[bytes] = ..., grant: _Optional[_Union[_common_pb2.SignedEntry, _Mapping]] = ..., ticket: _Optional[_Union[_common_pb2.SignedEntry, _Mapping]] = ..., point: _Optional[bytes] = ...) -> None: ...

class BeginReply(_message.Message):
    __slots__ = ("points",)
    POINTS_FIELD_NUMBER: _ClassVar[int]
    points: bytes
    def __init__(self, points: _Optional[bytes] = ...) -> None: ...

class VoteRequest(_message.Message):
    __slots__ = ("header", "chunk")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    header: VoteHeader
    chunk: _common_pb2.Chunk
    def __init__(self, header: _Optional[_Union[VoteHeader, _Mapping]] = ..., chunk: _Optional[_Union[_common_pb2.Chunk, _Mapping]] = ...) -> None: ...

class VoteHeader(_message.Message):
    __slots__ = ("plan", "grant", "ticket", "rows", "columns", "sha256", "members", "grant_sha256")
    PLAN_FIELD_NUMBER: _ClassVar[int]
    GRANT_FIELD_NUMBER: _ClassVar[int]
    TICKET_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    GRANT_SHA256_FIELD_NUMBER: _ClassVar[int]
    plan: bytes
    grant: _common_pb2.SignedEntry
    ticket: _common_pb2.SignedEntry
    rows: int
    columns: int
    sha256: bytes
    members: int
    grant_sha256: bytes
    def __init__(self, plan: _Optional[bytes] = ..., grant: _Optional[_Union[_common_pb2.SignedEntry, _Mapping]] = ..., ticket: _Optional[_Union[_common_pb2.SignedEntry, _Mapping]] = ..., rows: _Optional[int] = ..., columns: _Optional[int] = ..., sha256: _Optional[bytes] = ..., members: _Optional[int] = ..., grant_sha256: _Optional[bytes] = ...) -> None: ...

class SumRequest(_message.Message):
    __slots__ = ("header", "chunk")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    header: SumHeader
    chunk: _common_pb2.Chunk
    def __init__(self, header: _Optional[_Union[SumHeader, _Mapping]] = ..., chunk: _Optional[_Union[_common_pb2.Chunk, _Mapping]] = ...) -> None: ...

class SumHeader(_message.Message):
    __slots__ = ("plan", "grant", "ticket", "size", "sha256", "grant_sha256")
    PLAN_FIELD_NUMBER: _ClassVar[int]
    GRANT_FIELD_NUMBER: _ClassVar[int]
    TICKET_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    GRANT_SHA256_FIELD_NUMBER: _ClassVar[int]
    plan: bytes
    grant: _common_pb2.SignedEntry
    ticket: _common_pb2.SignedEntry
    size: int
    sha256: bytes
    grant_sha256: bytes
    def __init__(self, plan: _Optional[bytes] = ..., grant: _Optional[_Union[_common_pb2.SignedEntry, _Mapping]] = ..., ticket: _Optional[_Union[_common_pb2.SignedEntry, _Mapping]] = ..., size: _Optional[int] = ..., sha256: _Optional[bytes] = ..., grant_sha256: _Optional[bytes] = ...) -> None: ...

class VoteReply(_message.Message):
    __slots__ = ("header", "chunk")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    header: VoteReplyHeader
    chunk: _common_pb2.Chunk
    def __init__(self, header: _Optional[_Union[VoteReplyHeader, _Mapping]] = ..., chunk: _Optional[_Union[_common_pb2.Chunk, _Mapping]] = ...) -> None: ...

class VoteReplyHeader(_message.Message):
    __slots__ = ("rows", "width", "seed")
    ROWS_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    rows: int
    width: int
    seed: bytes
    def __init__(self, rows: _Optional[int] = ..., width: _Optional[int] = ..., seed: _Optional[bytes] = ...) -> None: ...
