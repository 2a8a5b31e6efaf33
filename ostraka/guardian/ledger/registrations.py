"""Registrations: manifests that parties declare, and their consequences."""

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
    """A manifest that a party wants to register.

    Attributes:
        manifest: the serialized Manifest, and its Signed envelope with a verified signature.
        kept_head: the latest head that the party kept, its guardian's signature verified.
        entering: groups that the party's previous manifest did not have. Their units take over the spending
            of the party's other units.
        votes_raised_to: number of votes of one person in a query, if it exceeds the previous manifest's: the
            spending of the party's units is costed again.
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
    """The ledger's record of a party: its row and its latest manifest, None for none."""

    row: parties.PartyRow | None
    latest: StoredManifest | None

    @property
    def state(self) -> str:
        """Its standing; empty for an unknown party."""
        return "" if self.row is None else str(self.row.state)

    @property
    def reconciled_epoch(self) -> int:
        """The epoch in which its receipts were last taken."""
        return 0 if self.row is None else int(self.row.reconciled_epoch)


def lock_known(tx: Transaction, sites: Sequence[str]) -> dict[str, Known]:
    """Lock the parties of these sites, and return the ledger's record of each, known or not."""
    # Parties first: this locks their rows, so no manifest comes in between.
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
    """Store manifests as their parties' latest; repeating one adds nothing. Added parties become active.

    A kept head that is not on this ledger's chain proves that the ledger lost history. Unless the party must
    reconcile anyway, a new epoch then begins: every open session has ended, and every party reconciles before
    it votes.

    Args:
        tx: behind the fence.
        wanted: at most one per party.
        before: their parties, from `lock_known` in this transaction.

    Raises:
        OstrakaError: `party.removed`; `manifest.daily_limit` for one change too many in 24 hours. Then none
            of the manifests may be stored: try each alone.
    """
    for site, party in before.items():
        if party.state == "removed":
            raise parties.party_removed(site)
    changed = [one for one in wanted if one.manifest != before[one.site].latest]
    if changed:
        _change(tx, changed, before)
    reconcile.check(tx, [(one.site, one.kept_head) for one in wanted if one.kept_head is not None])
    # After everything that writes to the log, so that the party keeps a head that covers its own rows.
    head = audit.head(tx)
    now = parties.epoch(tx)
    return [Registered(head, now, before[one.site].reconciled_epoch < now) for one in wanted]


def _change(tx: Transaction, changed: Sequence[Registration], before: Mapping[str, Known]) -> None:
    """Store new manifests, and apply their consequences for parties and units."""
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
