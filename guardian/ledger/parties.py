"""Parties: added, registered, suspended, removed; and whether a kept head is on this ledger's chain."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.ledger import audit, carry_over, limits, recosting, session_close
from ostraka.guardian.ledger.audit import sha256
from ostraka.guardian.ledger.schema import audit as audit_table
from ostraka.guardian.ledger.schema import manifests, meta, parties
from ostraka.guardian.ledger.sessions import latest_manifests
from ostraka.guardian.ledger.transaction import Transaction
from ostraka.guardian.ledger.values import Registered, StoredManifest, StoredParty, UnitKey
from ostraka.protos.ostraka.v1 import common_pb2

PartyRow = Row[Any]
STATES = ("added", "active", "suspended", "removed")


def epoch(connection: Connection) -> int:
    """How often the ledger was restored."""
    return int(connection.execute(select(meta.c.epoch)).scalar_one())


def find(connection: Connection, site: str, *, lock: bool = True) -> PartyRow | None:
    """Return a party's row, locked for a change unless it is for reading."""
    statement = select(parties).where(parties.c.site == site)
    return connection.execute(statement.with_for_update() if lock else statement).one_or_none()


def require(connection: Connection, site: str, *, lock: bool = True) -> PartyRow:
    """As `find`, but raise `party.unknown` for one that was never added and never registered."""
    row = find(connection, site, lock=lock)
    if row is None:
        raise unknown(site)
    return row


def all_parties(connection: Connection, site: str | None = None) -> list[StoredParty]:
    """Every party, or the one of this name if it is known, in order of their names."""
    statement = select(parties) if site is None else select(parties).where(parties.c.site == site)
    now = epoch(connection)
    found = [_stored(row, now) for row in connection.execute(statement)]
    return sorted(found, key=lambda party: party.site)


def set_party(tx: Transaction, site: str, state: str, *, reason: str) -> StoredParty:
    """Change a party's standing. See `Administration.set_party`."""
    if state not in STATES:
        raise ValueError(f"state: must be one of {', '.join(STATES)}, is {state!r}")
    row = find(tx.connection, site) if state == "added" else require(tx.connection, site)
    now = "" if row is None else row.state
    if now == "removed" and state != now:
        raise removed(site)
    if now == "suspended" and state == "added":
        raise suspended(site)
    if state == "active" and not latest_manifests(tx.connection, [site]):
        state = "added"
    if now != state and (now, state) != ("active", "added"):
        _store(tx, site, row, state)
        tx.record("party_set", site=site, state=state, reason=reason)
    return _stored(require(tx.connection, site), epoch(tx.connection))


def register(
    tx: Transaction,
    site: str,
    manifest: bytes,
    signed: bytes,
    kept_head: common_pb2.AuditHead | None,
    entering: Collection[str],
    votes_raised_to: int | None,
) -> Registered:
    """Keep a party's manifest as its latest. See `Administration.register`."""
    row = find(tx.connection, site)
    if row is not None and row.state == "removed":
        raise removed(site)
    latest = latest_manifests(tx.connection, [site]).get(site)
    if latest != StoredManifest(site, manifest, signed):
        limits.check_manifests(tx, site)
        tx.connection.execute(
            insert(manifests).values(
                site=site, manifest=manifest, signed=signed, registered_unix_ms=tx.now_ms
            )
        )
        if row is None or row.state == "added":
            _store(tx, site, row, "active")
        tx.record("party_registered", site=site, manifest_sha256=sha256(manifest))
        carry_over.inherit(tx, site, units_of(site, entering))
        if votes_raised_to is not None:
            recosting.recost(tx, site, votes_raised_to)
    if kept_head is not None:
        _check_kept(tx, site, kept_head)
    party = _stored(require(tx.connection, site), epoch(tx.connection))
    return Registered(audit.head(tx.connection), epoch(tx.connection), not party.reconciled)


def units_of(site: str, groups: Collection[str]) -> set[UnitKey]:
    """Return the keys of a party's groups under both adjacencies."""
    return {UnitKey(site, group, adjacency) for group in groups for adjacency in ("record", "label")}


def unknown(site: str) -> OstrakaError:
    """Return the error for a party that was never added and never registered."""
    return OstrakaError(
        ErrorCode.PARTY_UNKNOWN,
        f"The guardian knows no party {site}; add it with `ostraka guardian party add`, or let it register.",
    )


def removed(site: str) -> OstrakaError:
    """Return the error for a party that is gone for good."""
    return OstrakaError(
        ErrorCode.PARTY_REMOVED, f"Party {site} was removed for good; take part under another name."
    )


def suspended(site: str) -> OstrakaError:
    """Return the error for a party that an administrator suspended."""
    return OstrakaError(
        ErrorCode.PARTY_SUSPENDED,
        f"Party {site} is suspended; resume it with `ostraka guardian party resume`.",
    )


def _check_kept(tx: Transaction, site: str, kept: common_pb2.AuditHead) -> None:
    """Find out whether the ledger lost what a party's kept head stands for.

    That is a backup put back without `restore`, so it is treated as one: a new epoch, unless the party must
    reconcile anyway. Each lost head counts once, so that one sent again after its party reconciled (because
    the reply was lost) starts no further epoch.
    """
    same = (audit_table.c.sequence == kept.sequence) & (audit_table.c.hash == kept.hash)
    if tx.connection.execute(select(audit_table.c.sequence).where(same)).first() is not None:
        return
    if _is_known_lost(tx, kept):
        return
    if require(tx.connection, site).reconciled_epoch < epoch(tx.connection):
        tx.record("lost_head_seen", site=site, kept=_name(kept))
    else:
        ended = session_close.end_all(tx)
        began = session_close.begin_epoch(tx)
        tx.record("rollback_found", site=site, kept=_name(kept), epoch=began, ended=ended)


def _is_known_lost(tx: Transaction, kept: common_pb2.AuditHead) -> bool:
    row = audit_table.c.payload.contains(f'"kept":"{_name(kept)}"', autoescape=True)
    return tx.connection.execute(select(audit_table.c.sequence).where(row).limit(1)).first() is not None


def _name(head: common_pb2.AuditHead) -> str:
    return f"{head.sequence}:{head.hash.hex()}"


def _store(tx: Transaction, site: str, row: PartyRow | None, state: str) -> None:
    """Store a state; a party new to a restored ledger may have been known before, so it reconciles too."""
    if row is None:
        new = insert(parties).values(site=site, state=state, reconciled_epoch=0, since_unix_ms=tx.now_ms)
        tx.connection.execute(new)
    else:
        change = update(parties).where(parties.c.site == site)
        tx.connection.execute(change.values(state=state, since_unix_ms=tx.now_ms))


def _stored(row: PartyRow, now: int) -> StoredParty:
    return StoredParty(row.site, row.state, row.reconciled_epoch == now, row.since_unix_ms)
