"""A guardian that dies at its first release."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from ostraka.guardian.ledger import Ledger
from ostraka.guardian.server import serve


def main() -> None:
    """Serve from the site folder of the second word; the first says whether what is released is stored."""
    moment, site, ready = sys.argv[1:]
    stored = Ledger.release

    def release(self: Ledger, *words: Any, **named: Any) -> None:
        if moment == "stored":
            stored(self, *words, **named)
        os.kill(os.getpid(), signal.SIGKILL)

    Ledger.release = release  # type: ignore[method-assign,assignment]
    serve(Path(site), ready_file=Path(ready))
