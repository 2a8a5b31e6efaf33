"""Early warnings that a server's certificates, or its revocation list, must be renewed."""

import threading

import structlog

from ostraka.common.clock import Clock
from ostraka.common.identity import Credentials

DAY_S = 86_400.0
WARN_BEFORE_S = 30 * DAY_S


class Reminder:
    """Logs warnings when it is created and then once a day; safe to use from many threads."""

    def __init__(self, credentials: Credentials, clock: Clock) -> None:
        """Take the credentials to watch, and warn now if necessary."""
        self._credentials = credentials
        self._clock = clock
        # Guards `_next`, so that only one of many calls warns.
        self._lock = threading.Lock()
        self._next = float("-inf")
        self.remind()

    def remind(self) -> None:
        """Warn if a day has passed since the last time."""
        now = self._clock.now()
        with self._lock:
            if now < self._next:
                return
            self._next = now + DAY_S
        log = structlog.get_logger()
        expires = self._credentials.expires_unix_s
        if expires - now < WARN_BEFORE_S:
            days = max(0, int((expires - now) // DAY_S))
            advice = "make new keys with `ostraka site renew` and have the CA sign them"
            log.warning("identity.expires_soon", days_left=days, advice=advice)
        if self._credentials.revocations.current.next_update_unix_s < now:
            log.warning("revocations.overdue", advice="ask who holds the CA for its newest crl.pem")
