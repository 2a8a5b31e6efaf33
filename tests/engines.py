"""Database engines that share SQLAlchemy's compiled statements, so that reopening a ledger is fast."""

from __future__ import annotations

from typing import Any

import sqlalchemy
from sqlalchemy import Engine

from ostraka.guardian.ledger.store import postgres, sqlite

_first: dict[str, Engine] = {}


def share_compiled_statements() -> None:
    """Make every ledger that is opened from now on in this process share them."""
    for module in (sqlite, postgres):
        module.create_engine = _create_engine  # type: ignore[attr-defined]


def _create_engine(url: Any, **options: Any) -> Engine:
    engine = sqlalchemy.create_engine(url, **options)
    first = _first.setdefault(engine.dialect.name, engine)
    engine.dialect = first.dialect
    engine._compiled_cache = first._compiled_cache
    return engine
