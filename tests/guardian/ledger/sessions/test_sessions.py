"""Sessions are looked up in parts, because a statement takes so many parameters and no more."""

from ostraka.guardian.ledger.sessions import sessions


def test_a_statement_has_so_many_sessions_and_no_more() -> None:
    ids = [f"s{number}" for number in range(sessions._IDS_AT_ONCE + 1)]
    assert list(sessions.parts(ids[:-1])) == [ids[:-1]]
    assert list(sessions.parts(ids)) == [ids[:-1], ids[-1:]]
