"""Grants and tickets: what is signed is the root of what they list, so that a party needs its entry alone.

A querying party holds the whole list, and shows every party the signed message, the party's entry and the
path from it to the root. Whoever reads either finds the entries in the message again.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from google.protobuf.message import DecodeError

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials
from ostraka.common.wire.limits import check_limits
from ostraka.protos.ostraka.v1 import common_pb2

_LEAF = b"\0"
"""What is hashed before an entry, so that none passes for two hashes (RFC 6962, section 2.1)."""
_NODE = b"\1"
"""What is hashed before two hashes."""


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
        """SHA-256 that says what every entry is, and at which place; with their number it is binding."""
        return self._levels[-1][0]

    def path(self, index: int) -> list[bytes]:
        """Return the Merkle path that proves the entry at `index`: its siblings, from the leaf up."""
        siblings = ((level, (index >> height) ^ 1) for height, level in enumerate(self._levels[:-1]))
        return [level[place] for level, place in siblings if place < len(level)]


def root_of(entry: bytes, index: int, count: int, path: Sequence[bytes]) -> bytes | None:
    """Return the root of a tree of `count` entries, with `entry` at `index`, that this path leads to.

    None for a path of another length, and for a place that such a tree does not have.
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
    """Fill in the entries of what was signed, and return it; raise `invalid` where they are not those."""
    # Before anything is hashed: the list is as long as its sender likes.
    check_limits(sent)
    known = header.listed
    if len(sent.entries) != known.count or MerkleTree(sent.entries).root != known.root:
        raise _foreign(invalid)
    return _fill(header, sent.entries, invalid)


def with_own(sent: common_pb2.SignedEntry, header: H, invalid: ErrorCode) -> H:
    """Fill in the one entry that was sent, and return it; raise `invalid` where it was not signed."""
    known = header.listed
    if root_of(sent.entry, sent.index, known.count, sent.path) != known.root:
        raise _foreign(invalid)
    return _fill(header, [sent.entry], invalid)


def read_grant(data: bytes) -> common_pb2.Grant:
    """Return the grant that a ledger keeps, whole."""
    return _read(data, common_pb2.Grant())


def read_ticket(data: bytes) -> common_pb2.Ticket:
    """Return the ticket that a ledger keeps, whole."""
    return _read(data, common_pb2.Ticket())


class SignedEntries:
    """Each site's entry of a signed list, as the site is sent it."""

    def __init__(self, sent: common_pb2.SignedList, sites: Iterable[str]) -> None:
        self._sent = sent
        self._tree = MerkleTree(sent.entries)
        self._places = {site: place for place, site in enumerate(sites)}
        self.sha256 = hashlib.sha256(sent.signed.payload).digest()
        """Digest of what was signed, which stands for it where it is known."""

    def of(self, site: str) -> common_pb2.SignedEntry:
        """Return what `site` is sent."""
        place = self._places[site]
        return common_pb2.SignedEntry(
            signed=self._sent.signed,
            entry=self._sent.entries[place],
            index=place,
            path=self._tree.path(place),
        )


def _read(data: bytes, header: H) -> H:
    """Parse what a guardian signed itself; earlier versions signed, and kept, the entries with the rest."""
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
    return header


def _entries(header: common_pb2.Grant | common_pb2.Ticket) -> Any:
    return header.participants if isinstance(header, common_pb2.Grant) else header.schedule


def _foreign(invalid: ErrorCode) -> OstrakaError:
    return OstrakaError(
        invalid,
        "What the guardian signed does not list what came with it: send the entries that it gave out, and "
        "use the same version everywhere.",
    )
