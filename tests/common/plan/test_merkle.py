import hashlib

from hypothesis import given
from hypothesis import strategies as st

from ostraka.common.plan.signed_lists import MerkleTree, root_of

ENTRIES = st.lists(st.binary(max_size=40), min_size=1, max_size=40)


def sha256(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


def tree_head(entries: list[bytes]) -> bytes:
    """Return the root as RFC 9162, section 2.1.1, defines it, from above."""
    if len(entries) == 1:
        return sha256(b"\0", entries[0])
    split = 1 << (len(entries) - 1).bit_length() - 1
    return sha256(b"\1", tree_head(entries[:split]), tree_head(entries[split:]))


@given(ENTRIES)
def test_the_root_is_that_of_the_standard(entries: list[bytes]) -> None:
    assert MerkleTree(entries).root == tree_head(entries)


def test_an_empty_list_has_a_root_that_no_entry_leads_to() -> None:
    assert MerkleTree([]).root == sha256()
    assert root_of(b"", 0, 0, []) is None


@given(ENTRIES, st.data())
def test_every_entry_leads_to_the_root_from_its_own_place(entries: list[bytes], data: st.DataObject) -> None:
    tree, index = MerkleTree(entries), data.draw(st.integers(0, len(entries) - 1))
    path = tree.path(index)
    assert root_of(entries[index], index, len(entries), path) == tree.root
    assert len(path) <= (len(entries) - 1).bit_length()
    place = data.draw(st.integers(-2, len(entries) + 2))
    if root_of(entries[index], place, len(entries), path) == tree.root:
        assert 0 <= place < len(entries)
        assert entries[place] == entries[index]


@given(ENTRIES, st.binary(max_size=40), st.data())
def test_no_other_entry_leads_to_the_root(entries: list[bytes], other: bytes, data: st.DataObject) -> None:
    tree, index = MerkleTree(entries), data.draw(st.integers(0, len(entries) - 1))
    path = tree.path(index)
    assert (root_of(other, index, len(entries), path) == tree.root) == (other == entries[index])
    if path:
        turned = data.draw(st.integers(0, len(path) - 1))
        altered = [*path[:turned], bytes(32), *path[turned + 1 :]]
        assert root_of(entries[index], index, len(entries), altered) != tree.root


@given(ENTRIES, st.data())
def test_a_path_of_another_length_leads_nowhere(entries: list[bytes], data: st.DataObject) -> None:
    tree, index = MerkleTree(entries), data.draw(st.integers(0, len(entries) - 1))
    path = tree.path(index)
    assert root_of(entries[index], index, len(entries), [*path, bytes(32)]) is None
    if path:
        assert root_of(entries[index], index, len(entries), path[:-1]) is None


def test_a_node_passes_for_no_entry() -> None:
    """Two hashes in a row are what a node is made of; as an entry of a smaller tree they hash otherwise."""
    tree = MerkleTree([b"a", b"b", b"c", b"d"])
    (right, above), (left, _) = tree.path(0), tree.path(1)
    assert root_of(b"a", 0, 4, [right, above]) == tree.root
    assert root_of(left + right, 0, 2, [above]) not in (None, tree.root)
