"""Parties and their states: added, registered, suspended, removed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Connection, Row, bindparam, insert, select, update

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.ledger.members import manifests
from ostraka.guardian.ledger.reader import View
from ostraka.guardian.ledger.store.schema import meta, parties
from ostraka.guardian.ledger.store.values import StoredParty, UnitKey
from ostraka.guardian.ledger.transaction import Transaction

PartyRow = Row[Any]
_ADD = insert(parties)
_EPOCH = select(meta.c.epoch)
_OF_SITES = (
    select(parties)
    .where(parties.c.site.in_(bindparam("sites", expanding=True)))
    .order_by(parties.c.site)
    .with_for_update()
)
STATES = ("added", "active", "suspended", "removed")


def epoch(view: View) -> int:
    """How often the ledger was restored."""
    return int(view.connection.execute(_EPOCH).scalar_one())


def find(connection: Connection, site: str, *, lock: bool = True) -> PartyRow | None:
    """Return a party's row, locked for a change unless it is only read."""
    statement = select(parties).where(parties.c.site == site)
    return connection.execute(statement.with_for_update() if lock else statement).one_or_none()


def find_all(connection: Connection, sites: Sequence[str]) -> dict[str, PartyRow]:
    """Return the rows of the known parties among these, locked for a change."""
    return {row.site: row for row in connection.execute(_OF_SITES, {"sites": sorted(sites)})}


def require(connection: Connection, site: str, *, lock: bool = True) -> PartyRow:
    """As `find`, but raise `party.unknown` for a party that was never added and never registered."""
    row = find(connection, site, lock=lock)
    if row is None:
        raise unknown(site)
    return row


def all_parties(view: View, site: str | None = None) -> list[StoredParty]:
    """Every party, or the party of this name if it is known, in order of their names."""
    statement = select(parties) if site is None else select(parties).where(parties.c.site == site)
    now = epoch(view)
    found = [_party_of(row, now) for row in view.connection.execute(statement)]
    return sorted(found, key=lambda party: party.site)


def set_party(tx: Transaction, site: str, state: str, *, reason: str) -> StoredParty:
    """Add, suspend, resume ("active") or remove a party; the same state again changes nothing.

    A party that is resumed before it ever registered is "added".

    Raises:
        OstrakaError: `party.removed` for a removed party, which is final; `party.suspended` for adding a
            suspended one; `party.unknown` for any state but "added" of an unknown party.
        ValueError: an unknown state.
    """
    if state not in STATES:
        raise ValueError(f"state: must be one of {', '.join(STATES)}, is {state!r}")
    row = find(tx.connection, site) if state == "added" else require(tx.connection, site)
    now = "" if row is None else row.state
    if now == "removed" and state != now:
        raise party_removed(site)
    if now == "suspended" and state == "added":
        raise party_suspended(site)
    if state == "active" and not manifests.latest(tx, [site]):
        state = "added"
    if now != state and (now, state) != ("active", "added"):
        if row is None:
            add(tx, [site], state)
        else:
            set_state(tx, site, state)
        tx.record("party_set", site=site, state=state, reason=reason)
    return _party_of(require(tx.connection, site), epoch(tx))


def units_of(site: str, groups: Collection[str]) -> set[UnitKey]:
    """Return the keys of a party's groups under both adjacencies."""
    return {UnitKey(site, group, adjacency) for group in groups for adjacency in ("record", "label")}


def unknown(site: str) -> OstrakaError:
    """Return the error for a party that was never added and never registered."""
    return OstrakaError(
        ErrorCode.PARTY_UNKNOWN,
        f"The guardian knows no party {site}; add it with `ostraka guardian party add`, or let it register.",
    )


def party_removed(site: str) -> OstrakaError:
    """Return the error for a party that is gone for good."""
    return OstrakaError(
        ErrorCode.PARTY_REMOVED, f"Party {site} was party_removed for good; take part under another name."
    )


def party_suspended(site: str) -> OstrakaError:
    """Return the error for a party that an administrator suspended."""
    return OstrakaError(
        ErrorCode.PARTY_SUSPENDED,
        f"Party {site} is party_suspended; resume it with `ostraka guardian party resume`.",
    )


def add(tx: Transaction, sites: Sequence[str], state: str) -> None:
    """Store unknown parties; a restored ledger may have known them before, so they also reconcile."""
    rows = [
        {"site": site, "state": state, "reconciled_epoch": 0, "since_unix_ms": tx.now_ms} for site in sites
    ]
    if rows:
        tx.connection.execute(_ADD, rows)


def set_state(tx: Transaction, site: str, state: str) -> None:
    """Store another state of a party."""
    change = update(parties).where(parties.c.site == site)
    tx.connection.execute(change.values(state=state, since_unix_ms=tx.now_ms))


def _party_of(row: PartyRow, now: int) -> StoredParty:
    return StoredParty(row.site, row.state, row.reconciled_epoch == now, row.since_unix_ms)
