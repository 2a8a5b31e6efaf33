"""Changes to messages that a key holder could make: inside signed, digested or nested data."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message

from ostraka.common.identity import Credentials
from ostraka.common.plan.signed_lists import MerkleTree
from ostraka.common.wire import contexts
from ostraka.protos.ostraka.v1 import common_pb2
from tests.fuzz.nonsense import fill, put

CONTEXTS: Mapping[str, bytes] = {
    name.removesuffix("_CONTEXT").lower(): context
    for name, context in vars(contexts).items()
    if name.endswith("_CONTEXT")
}
"""Signed messages by the field that carries them: grant, ticket, manifest, ..."""
LISTS: Mapping[str, type[common_pb2.Grant | common_pb2.Ticket]] = {
    "grant": common_pb2.Grant,
    "ticket": common_pb2.Ticket,
}
ENTRIES: Mapping[str, type[Message]] = {"grant": common_pb2.Participant, "ticket": common_pb2.Schedule}
"""Message types of a signed list and of its entries, by the field that carries it."""
MENDED = 0.7
"""How often digests that bind messages together are corrected after a change."""


def nested(field: str) -> type[Message] | None:
    """Return the message type that a bytes field (or a signature's payload in it) holds, by its name."""
    return getattr(common_pb2, field.capitalize(), None)


class Forger:
    """Changes messages, and signs them again with the keys of all members."""

    def __init__(self, signers: Mapping[str, Credentials]) -> None:
        """Take signers by the name of the field that carries their signatures."""
        self._signers = signers

    def signed(self, field: str, payload: bytes) -> common_pb2.Signed:
        """Return this payload, signed, as a field of this name would hold it."""
        name = field if field in self._signers else "audit"
        return self._signers[name].sign(CONTEXTS[name], payload)

    def listed(self, field: str, payload: bytes, entry: bytes) -> common_pb2.SignedEntry:
        """Return the only entry of a list, with a really signed header, whatever the two contain."""
        try:
            header = LISTS[field].FromString(payload)
        except DecodeError:
            return common_pb2.SignedEntry(signed=self.signed(field, payload), entry=entry)
        header.listed.root, header.listed.count = MerkleTree([entry]).root, 1
        return common_pb2.SignedEntry(signed=self.signed(field, header.SerializeToString()), entry=entry)

    def whole_list(self, field: str, payload: bytes, entries: Sequence[bytes]) -> common_pb2.SignedList:
        """Return a list with a really signed header, whatever header and entries contain."""
        try:
            header = LISTS[field].FromString(payload)
        except DecodeError:
            return common_pb2.SignedList(signed=self.signed(field, payload), entries=entries)
        header.listed.root, header.listed.count = MerkleTree(entries).root, len(entries)
        return common_pb2.SignedList(signed=self.signed(field, header.SerializeToString()), entries=entries)

    def headed(self, kind: type[Message], data: bytes, draws: random.Random) -> bytes:
        """Return a reply whose audit head, if it has one, usually really carries the guardian's signature."""
        if "audit_head" not in kind.DESCRIPTOR.fields_by_name or draws.random() > MENDED:
            return data
        reply: Any = kind.FromString(data)
        head = reply.audit_head
        head.signed.CopyFrom(self.signed("audit", head.sequence.to_bytes(8, "big") + head.hash))
        headed: bytes = reply.SerializeToString()
        return headed

    def nonsense(self, kind: type[Message], draws: random.Random) -> bytes:
        """Return a message of nonsense; messages nested in it are complete and really signed nonsense."""
        message = kind()
        fill(message, draws)
        self._nest(message, draws)
        return message.SerializeToString()

    def _nest(self, message: Message, draws: random.Random) -> None:
        for field, _ in message.ListFields():
            inner = nested(field.name)
            if field.is_repeated:
                continue
            if field.message_type is common_pb2.SignedEntry.DESCRIPTOR and inner and draws.random() < 0.9:
                payload, entry = (self.nonsense(made, draws) for made in (inner, ENTRIES[field.name]))
                getattr(message, field.name).CopyFrom(self.listed(field.name, payload, entry))
            elif field.message_type is common_pb2.SignedList.DESCRIPTOR and inner and draws.random() < 0.9:
                entries = [self.nonsense(ENTRIES[field.name], draws) for _ in range(draws.choice((0, 1, 3)))]
                made = self.whole_list(field.name, self.nonsense(inner, draws), entries)
                getattr(message, field.name).CopyFrom(made)
            elif field.message_type is common_pb2.Signed.DESCRIPTOR and draws.random() < 0.9:
                payload = self.nonsense(inner, draws) if inner else draws.randbytes(40)
                getattr(message, field.name).CopyFrom(self.signed(field.name, payload))
            elif field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
                self._nest(getattr(message, field.name), draws)
            elif inner and field.type == FieldDescriptor.TYPE_BYTES and draws.random() < 0.9:
                setattr(message, field.name, self.nonsense(inner, draws))

    def edited(self, kind: type[Message], messages: Sequence[bytes], draws: random.Random) -> list[bytes]:
        """Return the messages of a call with a few fields changed and, usually, digests corrected."""
        try:
            parsed = [kind.FromString(one) for one in messages]
        except DecodeError:
            return list(messages)
        for _ in range(draws.choice((1, 1, 1, 2, 4))):
            if parsed:
                self._edit(draws.choice(parsed), draws)
        if draws.random() < MENDED:
            _mend_digest(parsed)
            for message in parsed:
                self._mend_grant(message)
        return [message.SerializeToString() for message in parsed]

    def _edit(self, message: Message, draws: random.Random) -> None:
        """Change one field, here or deeper."""
        present: list[Any] = [field for field, _ in message.ListFields()]
        if not message.DESCRIPTOR.fields:
            return
        if not present or draws.random() < 0.15:
            put(message, draws.choice(message.DESCRIPTOR.fields), draws)
            return
        field = draws.choice(present)
        inner = nested(field.name)
        if draws.random() < 0.1:
            message.ClearField(field.name)
        elif field.message_type is common_pb2.SignedEntry.DESCRIPTOR and inner and draws.random() < 0.9:
            sent = getattr(message, field.name)
            payload, entry = sent.signed.payload, sent.entry
            if draws.random() < 0.5:
                payload = self._edited_bytes(inner, payload, draws)
            else:
                entry = self._edited_bytes(ENTRIES[field.name], entry, draws)
            sent.CopyFrom(self.listed(field.name, payload, entry))
        elif field.message_type is common_pb2.SignedList.DESCRIPTOR and inner and draws.random() < 0.9:
            self._edit_list(getattr(message, field.name), field.name, draws)
        elif field.message_type is common_pb2.Signed.DESCRIPTOR and inner and draws.random() < 0.9:
            signed = getattr(message, field.name)
            payload = self._edited_bytes(inner, signed.payload, draws)
            signed.CopyFrom(self.signed(field.name, payload))
        elif inner and field.type == FieldDescriptor.TYPE_BYTES:
            setattr(message, field.name, self._edited_bytes(inner, getattr(message, field.name), draws))
        elif field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE and draws.random() < 0.9:
            held: Any = getattr(message, field.name)
            if not field.is_repeated:
                self._edit(held, draws)
            elif draws.random() < 0.3:
                held.add().CopyFrom(draws.choice(held))
            else:
                self._edit(draws.choice(held), draws)
        else:
            put(message, field, draws)

    def _edit_list(self, sent: common_pb2.SignedList, name: str, draws: random.Random) -> None:
        """Change the header, or an entry, or which entries there are."""
        payload, entries = sent.signed.payload, list(sent.entries)
        what = draws.random()
        if what < 0.5 or not entries:
            payload = self._edited_bytes(LISTS[name], payload, draws)
        elif what < 0.8:
            place = draws.randrange(len(entries))
            entries[place] = self._edited_bytes(ENTRIES[name], entries[place], draws)
        else:
            entries = draws.choices(entries, k=draws.choice((0, 1, 2, 5)))
        sent.CopyFrom(self.whole_list(name, payload, entries))

    def _edited_bytes(self, kind: type[Message], data: bytes, draws: random.Random) -> bytes:
        try:
            message = kind.FromString(data)
        except DecodeError:
            return data
        self._edit(message, draws)
        return message.SerializeToString()

    def _mend_grant(self, message: Any) -> None:
        """Make the grant fit the current plan, if a message holds both."""
        header = message.header if "header" in message.DESCRIPTOR.fields_by_name else message
        fields = header.DESCRIPTOR.fields_by_name
        if "plan" in fields and "grant" in fields and header.HasField("grant"):
            try:
                grant = common_pb2.Grant.FromString(header.grant.signed.payload)
            except DecodeError:
                return
            digest = hashlib.sha256(header.plan).digest()
            if grant.plan_digest != digest:
                grant.plan_digest = digest
                header.grant.signed.CopyFrom(self.signed("grant", grant.SerializeToString()))


def _mend_digest(messages: Sequence[Any]) -> None:
    """Make the announced digest fit the current chunks of a stream."""
    first = messages[0] if messages else None
    if first is None or "header" not in first.DESCRIPTOR.fields_by_name or not first.HasField("header"):
        return
    if "sha256" in first.header.DESCRIPTOR.fields_by_name:
        data = b"".join(message.chunk.data for message in messages[1:])
        first.header.sha256 = hashlib.sha256(data).digest()
        if "bytes" in first.header.DESCRIPTOR.fields_by_name:
            first.header.bytes = len(data)
