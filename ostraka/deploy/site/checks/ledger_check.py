"""A guardian's ledger, looked at without changing it."""

import socket
from pathlib import Path

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.deploy.site.checks.finding import Finding, failed, ok

LEDGER, KEY = "ledger", "ledger key"
TIMEOUT_S = 3.0
POSTGRES_PORT = 5432


def ledger(folder: Path) -> Finding:
    """Whether the ledger opens and is of this version, and its key is there."""
    from ostraka.guardian.ledger import LedgerReader
    from ostraka.guardian.ledger.site import ledger_location
    from ostraka.guardian.ledger.store.cipher import KEY_FILE

    try:
        where = ledger_location(folder)
        if isinstance(where, str):
            _reach(where)
        LedgerReader.open_read_only(where).close()
    except OstrakaError as error:
        if error.code is ErrorCode.LEDGER_MISSING:
            return _none_yet(folder / KEY_FILE)
        return failed(LEDGER, error.message)
    name = str(where) if isinstance(where, Path) else "the database"
    return ok(LEDGER, f"The ledger in {name} opens and is of this version.")


def ledger_key(folder: Path) -> Finding:
    """Whether the key that data-dependent sums are encrypted with is there, for its owner alone."""
    from ostraka.guardian.ledger.site import ledger_location
    from ostraka.guardian.ledger.store.cipher import KEY_FILE, load_or_create_key

    path = folder / KEY_FILE
    try:
        if path.exists():
            load_or_create_key(folder)
            return ok(KEY, f"{path} is there; keep a copy of it apart from the ledger's backups.")
        where = ledger_location(folder)
    except OstrakaError as error:
        return failed(KEY, error.message)
    if isinstance(where, Path) and where.exists():
        return failed(KEY, f"{path} is missing; put back the one that belongs to {where}.")
    return ok(KEY, f"{path} is made at the first start; replicas need a copy of the first one's.")


def _none_yet(key: Path) -> Finding:
    if key.exists():
        return failed(
            LEDGER,
            f"{key} is there and its ledger is not; put the ledger back (`ostraka guardian ledger restore`),"
            " or remove the key to begin a new one.",
        )
    return ok(LEDGER, "There is no ledger yet; it is made at the first start.")


def _reach(url: str) -> None:
    """Raise ledger.unreachable where nobody listens at a database's address, sooner than its driver does."""
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        parsed = make_url(url)
    except ArgumentError:
        return
    if not parsed.host or parsed.host.startswith("/"):
        return
    try:
        socket.create_connection((parsed.host, parsed.port or POSTGRES_PORT), TIMEOUT_S).close()
    except OSError as error:
        raise OstrakaError(
            ErrorCode.LEDGER_UNREACHABLE,
            f"Nothing answers at {parsed.host}:{parsed.port or POSTGRES_PORT} ({error}), where the ledger's"
            " database should; check that it runs, and its URL.",
        ) from error
