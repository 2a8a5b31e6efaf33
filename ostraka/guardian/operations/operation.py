"""Description of administrative operations, and readers of the files that administrators submit."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias

from google.protobuf.message import Message
from pydantic import BaseModel, Field

from ostraka.common.errors import ErrorCode, OstrakaError

if TYPE_CHECKING:
    from ostraka.protos.ostraka.v1.admin_pb2_grpc import AdminStub
from google.protobuf.message import DecodeError

from ostraka.protos.ostraka.v1 import common_pb2

Stub: TypeAlias = "AdminStub"
Reason = Annotated[str, Field(description="Reason for the change; the audit log keeps it permanently.")]
MaybeReason = Annotated[
    str, Field(description="Reason for the change (optional); the audit log keeps it permanently.")
]


class Operation(BaseModel):
    """A change by an administrator: a subclass is a kind of change, an instance one request.

    The docstring of a subclass is its command's help. Each field is an option or argument of the command and,
    by its name or serialization alias, a field of the request.

    Attributes:
        command: the words after `ostraka guardian`: a group and a verb, or a verb alone.
        request: the message to send, with values of the fields that are not options. Its type determines the
            RPC.
        final: what can never be undone, with fields in braces; the command then requires `--yes`.
        names_party: whether an unknown party is probably misspelt; the command then requires `--new`.
    """

    command: ClassVar[str]
    request: ClassVar[Message]
    final: ClassVar[str] = ""
    names_party: ClassVar[bool] = False

    def send(self, stub: Stub) -> Any:
        """Carry the operation out and return the guardian's reply; raises `grpc.RpcError`."""
        request = type(self.request)(**self.model_dump(by_alias=True))
        request.MergeFrom(self.request)
        return getattr(stub, request.DESCRIPTOR.name.removesuffix("Request"))(request)


@dataclass(frozen=True)
class Form:
    """An operation in the console: its name in URLs, its title, and the sentence after it is done."""

    name: str
    title: str
    done: str


@dataclass(frozen=True)
class Preview:
    """The changes that an operation would make.

    Attributes:
        about: what is changed.
        steps: each change, with the value before and after.
        warning: what to consider first.
        back: the page that shows the result.
    """

    about: str
    steps: tuple[tuple[str, str, str], ...]
    warning: str
    back: str


class ConsoleOperation(Operation):
    """An operation that the console also offers, in a form with every field that has a title."""

    form: ClassVar[Form]

    @abstractmethod
    def preview(self, stub: Stub) -> Preview:
        """Return what would change; raises OstrakaError if the guardian would refuse it."""


def invalid(problem: str) -> OstrakaError:
    """Return the error for a form that cannot be acted on."""
    return OstrakaError(ErrorCode.MESSAGE_INVALID, f"{problem}; correct the form.")


def utf8(content: bytes, name: str) -> str:
    """Return a file's text; raises `data.unreadable` if it is not text."""
    try:
        return content.decode()
    except UnicodeDecodeError as exc:
        raise OstrakaError(ErrorCode.DATA_UNREADABLE, f"{name} is not text in UTF-8; correct it.") from exc


def parse_signed(content: bytes, name: str) -> common_pb2.Signed:
    """Return a party's signed message, its signature not yet checked; raises `data.unreadable`."""
    try:
        return common_pb2.Signed.FromString(content)
    except DecodeError:
        raise no_agreement(name) from None


def no_agreement(name: str) -> OstrakaError:
    """Return the error for a file that a party did not sign."""
    return OstrakaError(
        ErrorCode.DATA_UNREADABLE, f"{name} is not a signed agreement; take it as its party wrote it."
    )
