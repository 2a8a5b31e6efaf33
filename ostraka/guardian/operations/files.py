"""Readers of the files that administrators hand in; each takes what to call the file in an error."""

from google.protobuf.message import DecodeError

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.protos.ostraka.v1 import common_pb2


def utf8(content: bytes, name: str) -> str:
    """Return a file's text; raises `data.unreadable` where it is not text."""
    try:
        return content.decode()
    except UnicodeDecodeError as exc:
        raise OstrakaError(ErrorCode.DATA_UNREADABLE, f"{name} is no text in UTF-8; correct it.") from exc


def signed(content: bytes, name: str) -> common_pb2.Signed:
    """Return what a party signed, its signature not yet checked; raises `data.unreadable`."""
    try:
        return common_pb2.Signed.FromString(content)
    except DecodeError:
        raise no_agreement(name) from None


def no_agreement(name: str) -> OstrakaError:
    """Return the error for a file that a party did not sign."""
    return OstrakaError(
        ErrorCode.DATA_UNREADABLE, f"{name} is no signed agreement; take it as its party wrote it."
    )
