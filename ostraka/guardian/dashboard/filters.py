"""Template filters for amounts, times and names."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from ostraka.common.privacy.guarantees import notion
from ostraka.guardian.admin.odd_answer import odd
from ostraka.guardian.admin.times import day, minute
from ostraka.guardian.admin.unit_texts import left, unit_text
from ostraka.guardian.dashboard.log import said_in
from ostraka.protos.ostraka.v1 import admin_pb2


def amount(value: float) -> str:
    """Return a computed epsilon, rounded."""
    return f"{value:.4f}"


def number(value: float) -> str:
    """Return a number that somebody set, as it was set."""
    return f"{value:g}"


def percent(part: float, whole: float) -> float:
    """Return a part of something in percent, from 0 to 100."""
    return round(100 * min(1.0, max(0.0, part / whole)), 2) if whole > 0 else 0.0


def audit_details(row: admin_pb2.AuditRow) -> Mapping[str, str]:
    """Return what an audit row says besides its kind and reason, long values shortened; its hash last."""
    said = said_in(row)
    details = {key: _short(value) for key, value in said.items() if key not in {"kind", "reason"}}
    return details | {"hash": row.hash.hex()}


def audit_about(row: admin_pb2.AuditRow) -> str:
    """Return the unit, site, session or version that an audit row is about; empty for the whole ledger."""
    said = said_in(row)
    if "unit" in said:
        return _unit(said["unit"])
    if "session" in said:
        return f"session {said['session']}" + (f" batch {said['batch']}" if "batch" in said else "")
    return str(said.get("site", ""))


def audit_field(row: admin_pb2.AuditRow, name: str) -> str:
    """Return one field of an audit row; empty where it has none."""
    return str(said_in(row).get(name, ""))


def _unit(named: Any) -> str:
    match named:
        case [str(party), str(group), str(adjacency)]:
            return f"{party}/{group} ({notion(adjacency)})"
    raise odd("sent an audit row about a unit without party, group and adjacency")


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 120 else f"{text[:120]}…"


FILTERS: Mapping[str, Callable[..., Any]] = {
    "amount": amount,
    "number": number,
    "unit": unit_text,
    "left": left,
    "percent": percent,
    "day": day,
    "minute": minute,
    "notion": notion,
    "details": audit_details,
    "about": audit_about,
    "field": audit_field,
}
