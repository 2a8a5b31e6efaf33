"""Manifests of parties: what they declared of their records and teachers."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import func, select

from ostraka.guardian.ledger.schema import manifests
from ostraka.guardian.ledger.values import StoredManifest
from ostraka.guardian.ledger.view import View


def latest(view: View, sites: Sequence[str] | None = None) -> dict[str, StoredManifest]:
    """Return the latest manifest of each of `sites` (None: of all) that registered."""
    newest = select(func.max(manifests.c.id)).group_by(manifests.c.site)
    if sites is not None:
        newest = newest.where(manifests.c.site.in_(sites))
    statement = select(manifests).where(manifests.c.id.in_(newest)).order_by(manifests.c.site)
    rows = view.connection.execute(statement)
    return {row.site: StoredManifest(row.site, row.manifest, row.signed) for row in rows}
