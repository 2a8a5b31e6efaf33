"""How many connections there may be: of a site, from one address, and of attached sites."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from ostraka.common.errors import ErrorCode, OstrakaError

MAX_TUNNELS = 128
"""Connections by the relay to or from one site: a querying party has two to a party at a time."""
MAX_STRANGERS = 64
"""Of these, for callers that the relay does not know: anybody who knows a site's name can call it, and leaves
room for attached sites that do."""
MAX_OF_CALLER = 32
"""Connections of one attached site to another: 16 runs have two each, and others find room in MAX_TUNNELS."""
MAX_OF_SITE = 16
"""Attachments of one site: its server's, one for each command under way, and older ones that died unseen. One
site with a certificate thereby takes no other one's place."""
MAX_OF_SOURCE = 2048
"""Connections from one IP address that proved nothing: callers, and sites before their proof. All sites
behind one proxy come from its address, and 1,000 of them come at once when the relay starts again."""
MAX_SITES = 4096
"""Attached sites, whose control sockets take up to 80 kB each."""


class Quota:
    """Counts what is under way by name, and refuses more than `most` of one."""

    def __init__(self, most: int, what: str) -> None:
        """Take how many there may be, and words for what they are."""
        self._most = most
        self._what = what
        self._used: Counter[str] = Counter()

    @property
    def total(self) -> int:
        """How many there are."""
        return self._used.total()

    @contextmanager
    def place(self, name: str) -> Iterator[None]:
        """Hold one place of `name` within the block; raises relay.quota where all are taken."""
        if self._used[name] >= self._most:
            raise OstrakaError(
                ErrorCode.RELAY_QUOTA,
                f"{name} has {self._most} {self._what}, and may have no more; close some, or try later.",
            )
        self._used[name] += 1
        try:
            yield
        finally:
            self._used[name] -= 1
            if not self._used[name]:
                del self._used[name]
