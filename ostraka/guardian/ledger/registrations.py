"""Registrations: manifests that parties declare, and what follows from them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ostraka.guardian.ledger import reconcile
from ostraka.guardian.ledger.log import audit
from ostraka.guardian.ledger.log.audit import sha256
from ostraka.guardian.ledger.members import limits, manifests, parties
from ostraka.guardian.ledger.store.values import Registered, StoredManifest
from ostraka.guardian.ledger.transaction import Transaction
from ostraka.guardian.ledger.units import carry_over, repricing, units
from ostraka.protos.ostraka.v1 import common_pb2


@dataclass(frozen=True)
class Registration:
    """A manifest that a party wants to have registered.

    Attributes:
        manifest: the serialized Manifest, and the Signed that it came in, its signature verified.
        kept_head: the latest head that the party kept, its guardian's signature verified.
        entering: groups that the party's manifest before did not have. Their units take over what
            the party's others have spent.
        votes_raised_to: how many votes one person has in a query, where that is more than the manifest
            before said: what the party's units have spent is costed again.
    """

    manifest: StoredManifest
    kept_head: common_pb2.AuditHead | None = None
    entering: Collection[str] = ()
    votes_raised_to: int | None = None

    @property
    def site(self) -> str:
        """The party."""
        return self.manifest.site


class Known(NamedTuple):
    """What the ledger has of a party: its row and its latest manifest, None where it has none."""

    row: parties.PartyRow | None
    latest: StoredManifest | None

    @property
    def state(self) -> str:
        """Its standing; empty for a party never heard of."""
        return "" if self.row is None else str(self.row.state)

    @property
    def reconciled_epoch(self) -> int:
        """The epoch that its receipts were last taken in."""
        return 0 if self.row is None else int(self.row.reconciled_epoch)


def lock_known(tx: Transaction, sites: Sequence[str]) -> dict[str, Known]:
    """Lock the parties of these sites, and return what the ledger has of each, known or not."""
    # Parties first: this locks their rows, so that no manifest comes between.
    rows = parties.find_all(tx.connection, sites)
    latest = manifests.latest(tx, sites)
    return {site: Known(rows.get(site), latest.get(site)) for site in sites}


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
    """As `register_all`, for one party."""
    stored = StoredManifest(site, manifest, signed)
    wanted = Registration(stored, kept_head, entering, votes_raised_to)
    return register_all(tx, [wanted], lock_known(tx, [site]))[0]


def register_all(
    tx: Transaction, wanted: Sequence[Registration], before: Mapping[str, Known]
) -> list[Registered]:
    """Keep manifests as their parties' latest; the same again adds nothing. Added parties become active.

    A kept head that is not on this ledger's chain proves that the ledger lost history: unless the party
    must reconcile anyway, a new epoch begins, in which every open session has ended and every party
    reconciles before it votes.

    Args:
        tx: behind the fence.
        wanted: one of a party at most.
        before: their parties, as `known` in this transaction.

    Raises:
        OstrakaError: `party.removed`; `manifest.daily_limit` for one change too many in 24 hours. Nothing of
            the others may be kept then either: try each alone.
    """
    for site, party in before.items():
        if party.state == "removed":
            raise parties.party_removed(site)
    changed = [one for one in wanted if one.manifest != before[one.site].latest]
    if changed:
        _change(tx, changed, before)
    reconcile.check(tx, [(one.site, one.kept_head) for one in wanted if one.kept_head is not None])
    # After everything that writes to the log, so that the party keeps the head that has its own rows.
    head = audit.head(tx)
    now = parties.epoch(tx)
    return [Registered(head, now, before[one.site].reconciled_epoch < now) for one in wanted]


def _change(tx: Transaction, changed: Sequence[Registration], before: Mapping[str, Known]) -> None:
    """Store manifests that are new, and what follows from them for their parties and units."""
    limits.check_manifests(tx, [one.site for one in changed if before[one.site].latest])
    manifests.add(tx, [one.manifest for one in changed])
    parties.add(tx, [one.site for one in changed if not before[one.site].state], "active")
    for one in changed:
        if before[one.site].state == "added":
            parties.set_state(tx, one.site, "active")
    tx.record_all(
        "party_registered",
        [{"site": one.site, "manifest_sha256": sha256(one.manifest.manifest)} for one in changed],
    )
    with_units = units.parties_of(tx.connection, [one.site for one in changed])
    for one in changed:
        if one.site in with_units:
            carry_over.inherit(tx, one.site, parties.units_of(one.site, one.entering))
            if one.votes_raised_to is not None:
                repricing.recost(tx, one.site, one.votes_raised_to)
