"""The session's keys, one set for each kind of head, and batches encrypted under them."""

import threading
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ostraka.client.session.meter import Meter
from ostraka.common.crypto.inference import QueryKeys
from ostraka.common.crypto.logits import Head
from ostraka.common.crypto.schemes import scheme_of


class Encryption:
    """Keys made when they are first needed; they never leave memory, and live as long as this does."""

    def __init__(self, meter: Meter) -> None:
        """No keys yet."""
        self._meter = meter
        self._keys: dict[Head, QueryKeys] = {}
        self._lock = threading.Lock()

    def keys(self, head: Head) -> QueryKeys:
        """Return the keys for heads of one kind."""
        with self._lock:
            if head not in self._keys:
                self._keys[head] = scheme_of(head).keys()
            return self._keys[head]

    def encrypt(self, head: Head, features: NDArray[np.float32]) -> bytes:
        """Encrypt features (n, columns) into what every party with such a head is sent."""
        keys = self.keys(head)
        with self._meter.measure("none", "encrypt"):
            message = keys.encrypt(features)
        self._meter.advance("encrypt")
        return message

    def begin(self, heads: Iterable[Head]) -> list[Head]:
        """Return the kinds of heads, each once, and begin the bar of their encryption."""
        kinds = sorted(set(heads))
        self._meter.begin("encrypt", len(kinds))
        return kinds
