"""Control messages between a relay and an attached site: JSON texts on one socket."""

from typing import Annotated, Literal, TypeVar

from pydantic import Field, StringConstraints, TypeAdapter, ValidationError

from ostraka.common.errors import ErrorCode, OstrakaError, printable
from ostraka.common.relay.web_socket import WebSocket
from ostraka.common.validation import FrozenModel
from ostraka.common.wire.limits import LAST_UNIX_S

ATTACH = "/attach"
TUNNEL = "/tunnel/"
NONCE_BYTES = 16
MAX_REASON = 1000
"""Maximum number of characters of a refusal that are shown: a sentence or two."""
MAX_TEXT = 16_384
"""Maximum number of characters in a message: a proof, with its certificate, takes about 2,000."""
Nonce = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
Token = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{16,64}$")]
Signed = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9+/=]{1,8000}$")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=253)]
UnixTime = Annotated[float, Field(ge=0, lt=LAST_UNIX_S, allow_inf_nan=False)]
"""Unix seconds; of anything else, a comparison of clocks would find that the two are alike."""


class Hello(FrozenModel):
    """From a site: a request to attach, and to be called if it `serves`; the relay must sign this nonce."""

    kind: Literal["hello"] = "hello"
    nonce: Nonce
    serves: bool


class Challenge(FrozenModel):
    """From the relay: its proof, the nonce that the site must sign, and its clock in Unix seconds."""

    kind: Literal["challenge"] = "challenge"
    nonce: Nonce
    proof: Signed
    now: UnixTime


class Proof(FrozenModel):
    """From a site: the proof of its identity."""

    kind: Literal["proof"] = "proof"
    proof: Signed


class Attached(FrozenModel):
    """From the relay: callers of this name are forwarded from now on."""

    kind: Literal["attached"] = "attached"
    name: Name


class Refused(FrozenModel):
    """From the relay: why it ends the attachment, or, with `ref`, an outward call.

    From a site: why it opens no socket with the token `ref`.
    """

    kind: Literal["refused"] = "refused"
    code: str
    message: str
    ref: Token | None = None


class Dial(FrozenModel):
    """From a site: a call to `name`, identified by `ref`."""

    kind: Literal["dial"] = "dial"
    name: Name
    ref: Token


class Open(FrozenModel):
    """From the relay: open a socket with this token, for a caller, or for the site's own call `ref`."""

    kind: Literal["open"] = "open"
    token: Token
    ref: Token | None = None


Message = Hello | Challenge | Proof | Attached | Refused | Dial | Open
M = TypeVar("M", bound=Message)
_ANY: TypeAdapter[Message] = TypeAdapter(Annotated[Message, Field(discriminator="kind")])


def send(socket: WebSocket, message: Message) -> None:
    """Send one message."""
    socket.send_text(message.model_dump_json(exclude_none=True))


async def receive(socket: WebSocket) -> Message:
    """Return the next message.

    Raises:
        OstrakaError: message.invalid for an invalid message, relay.unreachable once the connection is closed.
    """
    text = await socket.receive_text()
    try:
        if len(text) > MAX_TEXT:
            raise ValueError(len(text))
        return _ANY.validate_json(text)
    except (ValidationError, ValueError) as error:
        raise _invalid_message() from error


async def receive_only(socket: WebSocket, kind: type[M]) -> M:
    """Return the next message, which must be of this kind; raise the other end's refusal.

    Raises:
        OstrakaError: as in `receive`, and the error in a `Refused`.
    """
    message = await receive(socket)
    if isinstance(message, kind):
        return message
    if isinstance(message, Refused):
        raise refusal(message)
    raise _invalid_message()


def refusal(message: Refused) -> OstrakaError:
    """Return the error in the other end's refusal."""
    try:
        code = ErrorCode(message.code)
    except ValueError:
        code = ErrorCode.INTERNAL
    return OstrakaError(code, printable(message.message[:MAX_REASON]))


def _invalid_message() -> OstrakaError:
    return OstrakaError(
        ErrorCode.MESSAGE_INVALID,
        "The other end of the relay's control socket sent an invalid message; run the same version of "
        "Ostraka everywhere.",
    )
