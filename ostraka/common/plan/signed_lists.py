"""Grants and tickets: the root of their list is signed, so that a party needs only its own entry.

A querying party has the whole list. It shows every party the signed message, the party's entry and the path
from the entry to the root. Readers of either form get the entries back in the message.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from google.protobuf.message import DecodeError

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials
from ostraka.common.wire.limits import check_limits, check_numbers
from ostraka.protos.ostraka.v1 import common_pb2

_LEAF = b"\0"
"""Prefix of an entry's hash, so that no entry passes for two hashes (RFC 6962, section 2.1)."""
_NODE = b"\1"
"""Prefix of the hash of two hashes."""


class MerkleTree:
    """The tree over `entries`, in their order."""

    def __init__(self, entries: Sequence[bytes]) -> None:
        level = [_leaf(entry) for entry in entries] or [hashlib.sha256().digest()]
        self._levels = [level]
        while len(level) > 1:
            alone = level[len(level) & ~1 :]
            level = [_node(*pair) for pair in zip(level[::2], level[1::2], strict=False)] + alone
            self._levels.append(level)

    @property
    def root(self) -> bytes:
        """SHA-256 that commits to every entry and its place; together with their number it is binding."""
        return self._levels[-1][0]

    def path(self, index: int) -> list[bytes]:
        """Return the Merkle path that proves the entry at `index`: its siblings, from the leaf up."""
        siblings = ((level, (index >> height) ^ 1) for height, level in enumerate(self._levels[:-1]))
        return [level[place] for level, place in siblings if place < len(level)]


def root_of(entry: bytes, index: int, count: int, path: Sequence[bytes]) -> bytes | None:
    """Return the root to which this path leads in a tree of `count` entries with `entry` at `index`.

    None for a path of another length, and for an index beyond such a tree.
    """
    if not 0 <= index < count:
        return None
    siblings = iter(path)
    node = _leaf(entry)
    last = count - 1
    while last:
        if index & 1 or index < last:
            sibling = next(siblings, None)
            if sibling is None:
                return None
            node = _node(sibling, node) if index & 1 else _node(node, sibling)
        index >>= 1
        last >>= 1
    return None if next(siblings, None) is not None else node


def _leaf(entry: bytes) -> bytes:
    return hashlib.sha256(_LEAF + entry).digest()


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(_NODE + left + right).digest()


H = TypeVar("H", common_pb2.Grant, common_pb2.Ticket)


def sign_list(credentials: Credentials, context: bytes, header: H) -> common_pb2.SignedList:
    """Sign a grant with its participants, or a ticket with its schedule."""
    bare = type(header)()
    bare.CopyFrom(header)
    del _entries(bare)[:]
    entries = [entry.SerializeToString(deterministic=True) for entry in _entries(header)]
    bare.listed.root = MerkleTree(entries).root
    bare.listed.count = len(entries)
    signed = credentials.sign(context, bare.SerializeToString(deterministic=True))
    return common_pb2.SignedList(signed=signed, entries=entries)


def with_all(sent: common_pb2.SignedList, header: H, invalid: ErrorCode) -> H:
    """Add all entries to what was signed, and return it; raise `invalid` if they are not the signed ones."""
    # Checked before hashing: the list is as long as its sender likes.
    check_limits(sent)
    known = header.listed
    if len(sent.entries) != known.count or MerkleTree(sent.entries).root != known.root:
        raise _foreign(invalid)
    return _fill(header, sent.entries, invalid)


def with_own(sent: common_pb2.SignedEntry, header: H, invalid: ErrorCode) -> H:
    """Add the one entry that was sent to what was signed; raise `invalid` if it was not signed."""
    known = header.listed
    if root_of(sent.entry, sent.index, known.count, sent.path) != known.root:
        raise _foreign(invalid)
    return _fill(header, [sent.entry], invalid)


def read_grant(data: bytes) -> common_pb2.Grant:
    """Return the complete grant from a ledger."""
    return _read(data, common_pb2.Grant())


def read_ticket(data: bytes) -> common_pb2.Ticket:
    """Return the complete ticket from a ledger."""
    return _read(data, common_pb2.Ticket())


class SignedEntries:
    """The entries of a signed list, as each site receives its own."""

    def __init__(self, sent: common_pb2.SignedList, sites: Iterable[str]) -> None:
        self._sent = sent
        self._tree = MerkleTree(sent.entries)
        self._places = {site: place for place, site in enumerate(sites)}
        self.sha256 = hashlib.sha256(sent.signed.payload).digest()
        """Digest of what was signed, which replaces it for sites that already have it."""

    def of(self, site: str) -> common_pb2.SignedEntry:
        """Return what `site` receives."""
        place = self._places[site]
        return common_pb2.SignedEntry(
            signed=self._sent.signed,
            entry=self._sent.entries[place],
            index=place,
            path=self._tree.path(place),
        )


def _read(data: bytes, header: H) -> H:
    """Parse what a guardian signed itself; earlier versions signed and stored the entries with the rest."""
    kept = common_pb2.SignedList.FromString(data)
    if not kept.HasField("signed"):
        header.ParseFromString(common_pb2.Signed.FromString(data).payload)
        return header
    header.ParseFromString(kept.signed.payload)
    for entry in kept.entries:
        _entries(header).add().ParseFromString(entry)
    return header


def _fill(header: H, entries: Sequence[bytes], invalid: ErrorCode) -> H:
    filled = _entries(header)
    if filled:
        raise _foreign(invalid)
    try:
        for entry in entries:
            filled.add().ParseFromString(entry)
    except DecodeError as exc:
        raise _foreign(invalid) from exc
    for entry in filled:
        check_limits(entry)
        check_numbers(entry)
    return header


def _entries(header: common_pb2.Grant | common_pb2.Ticket) -> Any:
    return header.participants if isinstance(header, common_pb2.Grant) else header.schedule


def _foreign(invalid: ErrorCode) -> OstrakaError:
    return OstrakaError(
        invalid,
        "What the guardian signed does not list what came with it: send the entries that it gave out, and "
        "use the same version everywhere.",
    )
