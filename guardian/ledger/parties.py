"""Parties: added, registered, suspended, removed; and whether a kept head is on this ledger's chain."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.ledger import audit, carry_over, limits, manifests, recosting, session_close
from ostraka.guardian.ledger.audit import sha256
from ostraka.guardian.ledger.schema import audit as audit_table
from ostraka.guardian.ledger.schema import manifests as manifest_table
from ostraka.guardian.ledger.schema import meta, parties
from ostraka.guardian.ledger.transaction import Transaction
from ostraka.guardian.ledger.values import Registered, StoredManifest, StoredParty, UnitKey
from ostraka.guardian.ledger.view import View
from ostraka.protos.ostraka.v1 import common_pb2

PartyRow = Row[Any]
STATES = ("added", "active", "suspended", "removed")


def epoch(view: View) -> int:
    """How often the ledger was restored."""
    return int(view.connection.execute(select(meta.c.epoch)).scalar_one())


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


def all_parties(view: View, site: str | None = None) -> list[StoredParty]:
    """Every party, or the one of this name if it is known, in order of their names."""
    statement = select(parties) if site is None else select(parties).where(parties.c.site == site)
    now = epoch(view)
    found = [_stored(row, now) for row in view.connection.execute(statement)]
    return sorted(found, key=lambda party: party.site)


def set_party(tx: Transaction, site: str, state: str, *, reason: str) -> StoredParty:
    """Add, suspend, resume ("active") or remove a party; the same state again changes nothing.

    A party that is resumed before it ever registered is "added".

    Raises:
        OstrakaError: `party.removed` for a party that was, which is final; `party.suspended` for adding
            a suspended one; `party.unknown` for any state but "added" of a party never heard of.
        ValueError: an unknown state.
    """
    if state not in STATES:
        raise ValueError(f"state: must be one of {', '.join(STATES)}, is {state!r}")
    row = find(tx.connection, site) if state == "added" else require(tx.connection, site)
    now = "" if row is None else row.state
    if now == "removed" and state != now:
        raise removed(site)
    if now == "suspended" and state == "added":
        raise suspended(site)
    if state == "active" and not manifests.latest(tx, [site]):
        state = "added"
    if now != state and (now, state) != ("active", "added"):
        _store(tx, site, row, state)
        tx.record("party_set", site=site, state=state, reason=reason)
    return _stored(require(tx.connection, site), epoch(tx))


def register(
    tx: Transaction,
    site: str,
    manifest: bytes,
    signed: bytes,
    *,
    kept_head: common_pb2.AuditHead | None = None,
    entering: Collection[str] = (),
    votes_raised_to: int | None = None,
) -> Registered:
    """Keep a party's manifest as its latest; the same again adds nothing. An added party becomes active.

    A `kept_head` that is not on this ledger's chain proves that the ledger lost history: unless the party
    must reconcile anyway, a new epoch begins, in which every open session has ended and every party
    reconciles before it votes.

    Args:
        tx: behind the fence.
        site: the party.
        manifest: the serialized Manifest.
        signed: the Signed that it came in, serialized, its signature verified.
        kept_head: the latest head that the party kept, its guardian's signature verified.
        entering: groups that the party's manifest before did not have. Their units take over what
            the party's others have spent.
        votes_raised_to: how many votes one person has in a query, where that is more than the manifest
            before said: what the party's units have spent is costed again.

    Raises:
        OstrakaError: `party.removed`; `manifest.daily_limit` for one change too many in 24 hours.
    """
    row = find(tx.connection, site)
    if row is not None and row.state == "removed":
        raise removed(site)
    latest = manifests.latest(tx, [site]).get(site)
    if latest != StoredManifest(site, manifest, signed):
        limits.check_manifests(tx, site)
        tx.connection.execute(
            insert(manifest_table).values(
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
    party = _stored(require(tx.connection, site), epoch(tx))
    return Registered(audit.head(tx), epoch(tx), not party.reconciled)


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
    if require(tx.connection, site).reconciled_epoch < epoch(tx):
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
