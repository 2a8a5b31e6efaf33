"""A guardian that dies at its first release."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from ostraka.guardian.ledger import Ledger
from ostraka.guardian.ledger.sessions import releases
from ostraka.guardian.serving.server import serve


def main() -> None:
    """Serve from the site in the second argument; `stored` as first lets it store a release before it
    dies."""
    moment, site, ready = sys.argv[1:]
    stored = Ledger.write_session

    def write_session(self: Ledger, session_id: str, change: Any, *words: Any, **named: Any) -> Any:
        if change is releases.release and moment != "stored":
            os.kill(os.getpid(), signal.SIGKILL)
        result = stored(self, session_id, change, *words, **named)
        if change is releases.release:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    Ledger.write_session = write_session  # type: ignore[method-assign,assignment]
    serve(Path(site), ready_file=Path(ready))
