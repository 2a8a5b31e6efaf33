"""Monthly archives of a year: each continues the previous one, and the ledger continues the last."""

from __future__ import annotations

from pathlib import Path

from ostraka.common.errors import OstrakaError
from ostraka.common.wire.contexts import ARCHIVE_CONTEXT
from ostraka.guardian.ledger import LedgerReader
from ostraka.guardian.ledger.archive.archive import (
    Archive,
    Archivist,
    Authority,
    archive,
    check_archive,
    check_follows,
    check_ledger,
)
from ostraka.guardian.policy import DAY_S
from tests.chaos.members import FEDERATION
from tests.chaos.year.guardian import Guardian


class Archives:
    """A series of archives; a restored ledger begins a new one."""

    def __init__(self, folder: Path) -> None:
        """Keep archives in a folder."""
        self._folder = folder
        self._series: list[Archive] = []
        self._made = 0

    def begin_anew(self) -> None:
        """Begin another series."""
        self._series.clear()

    def add(self, guardian: Guardian, now: float) -> list[str]:
        """Archive up to the day before `now` (unix seconds), and return what did not hold."""
        credentials = guardian.credentials
        authority = Authority(credentials.ca_pem, FEDERATION)
        archivist = Archivist(int(now * 1000), lambda p: credentials.sign(ARCHIVE_CONTEXT, p), authority)
        before = self._series[-1] if self._series else None
        self._made += 1
        path = self._folder / f"archive-{self._made}.jsonl.gz"
        try:
            with LedgerReader.open_read_only(guardian.where) as ledger:
                archive(ledger, path, int((now - DAY_S) * 1000), archivist, before)
            found = check_archive(path, authority)
            if before is not None:
                check_follows(path, found, before)
            check_ledger(guardian.where, found.checkpoint, authority)
        except OstrakaError as exc:
            return [f"archive: {exc.message}"]
        self._series.append(found)
        return []
