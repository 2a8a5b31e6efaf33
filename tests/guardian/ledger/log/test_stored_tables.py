"""Keys are looked up in parts, because a statement takes so many parameters and no more."""

from ostraka.guardian.ledger.log.stored_tables import _KEYS_AT_ONCE, in_parts


def test_a_statement_has_so_many_keys_and_no_more() -> None:
    keys = [("s", number) for number in range(_KEYS_AT_ONCE + 1)]
    assert list(in_parts(keys[:-1])) == [keys[:-1]]
    assert list(in_parts(keys)) == [keys[:-1], keys[-1:]]
