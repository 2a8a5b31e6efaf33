"""Manifests of parties: what they declared about their records and teachers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import bindparam, func, insert, select

from ostraka.guardian.ledger.reader import View
from ostraka.guardian.ledger.store.schema import manifests
from ostraka.guardian.ledger.store.values import StoredManifest
from ostraka.guardian.ledger.transaction import Transaction
from ostraka.protos.ostraka.v1 import common_pb2

_NEWEST = select(func.max(manifests.c.id)).group_by(manifests.c.site)
_ADD = insert(manifests)
_ALL = select(manifests).where(manifests.c.id.in_(_NEWEST)).order_by(manifests.c.site)
_COUNT = select(func.count()).where(manifests.c.site.in_(bindparam("sites", expanding=True)))
_OF_SITES = (
    select(manifests)
    .where(manifests.c.id.in_(_NEWEST.where(manifests.c.site.in_(bindparam("sites", expanding=True)))))
    .order_by(manifests.c.site)
)


def latest(view: View, sites: Sequence[str] | None = None) -> dict[str, StoredManifest]:
    """Return the latest manifest of each of `sites` (None: of all) that registered."""
    if sites is None:
        rows = view.connection.execute(_ALL)
    else:
        rows = view.connection.execute(_OF_SITES, {"sites": list(sites)})
    return {row.site: StoredManifest(row.site, row.manifest, row.signed) for row in rows}


class Declared(NamedTuple):
    """The number of manifests that parties had registered at some time, to detect later ones."""

    sites: tuple[str, ...]
    manifests: int


def always_whole(view: View, sites: Sequence[str] | None = None) -> set[str]:
    """Return which of `sites` (None: of all) always kept each person's records with one teacher.

    A charge under a manifest that did not do so protects records only.
    """
    statement = select(manifests.c.site, manifests.c.manifest)
    if sites is not None:
        statement = statement.where(manifests.c.site.in_(sites))
    whole: set[str] = set()
    split: set[str] = set()
    for row in view.connection.execute(statement):
        kept = common_pb2.Manifest.FromString(row.manifest).whole_persons
        (whole if kept else split).add(row.site)
    return whole - split


def count_declared(view: View, sites: Iterable[str]) -> Declared:
    """Return the number of manifests that parties have registered so far; every new one changes it."""
    named = tuple(sites)
    return Declared(named, int(view.connection.execute(_COUNT, {"sites": list(named)}).scalar_one()))


def add(tx: Transaction, stored: Iterable[StoredManifest]) -> None:
    """Store manifests as the latest of their parties."""
    rows = [
        {"site": one.site, "manifest": one.manifest, "signed": one.signed, "registered_unix_ms": tx.now_ms}
        for one in stored
    ]
    tx.connection.execute(_ADD, rows)
