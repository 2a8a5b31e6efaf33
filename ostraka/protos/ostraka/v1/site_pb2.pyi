from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class AboutRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AboutReply(_message.Message):
    __slots__ = ("version", "protocol", "time_unix_ms", "revocations", "expires_unix_s")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    TIME_UNIX_MS_FIELD_NUMBER: _ClassVar[int]
    REVOCATIONS_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_UNIX_S_FIELD_NUMBER: _ClassVar[int]
    version: str
    protocol: str
    time_unix_ms: int
    revocations: int
    expires_unix_s: int
    def __init__(self, version: _Optional[str] = ..., protocol: _Optional[str] = ..., time_unix_ms: _Optional[int] = ..., revocations: _Optional[int] = ..., expires_unix_s: _Optional[int] = ...) -> None: ...
