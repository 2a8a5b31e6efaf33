"""A hash tree over a list, whose root stands for all entries and whose paths show single ones (RFC 9162)."""

import hashlib
from collections.abc import Sequence

_LEAF, _NODE = b"\0", b"\1"
"""What is hashed before an entry, and before two hashes, so that none of one kind passes for the other."""


class MerkleTree:
    """The tree over `entries`, in their order."""

    def __init__(self, entries: Sequence[bytes]) -> None:
        """Hash all of them."""
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
        """Return what shows the entry at `index` to whoever knows the root: its siblings, from below."""
        siblings = ((level, (index >> height) ^ 1) for height, level in enumerate(self._levels[:-1]))
        return [level[place] for level, place in siblings if place < len(level)]


def root_of(entry: bytes, index: int, count: int, path: Sequence[bytes]) -> bytes | None:
    """Return the root of a tree of `count` entries, with `entry` at `index`, that this path leads to.

    None for a path of another length, and for a place that such a tree does not have.
    """
    if not 0 <= index < count:
        return None
    siblings, node, last = iter(path), _leaf(entry), count - 1
    while last:
        if index & 1 or index < last:
            sibling = next(siblings, None)
            if sibling is None:
                return None
            node = _node(sibling, node) if index & 1 else _node(node, sibling)
        index, last = index >> 1, last >> 1
    return None if next(siblings, None) is not None else node


def _leaf(entry: bytes) -> bytes:
    return hashlib.sha256(_LEAF + entry).digest()


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(_NODE + left + right).digest()
