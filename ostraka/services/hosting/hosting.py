"""The teachers that are served now, and their registration at the guardian."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Generic, Literal, Protocol, TypeVar

import structlog

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.rpc.serving import DRAIN_S
from ostraka.protos.ostraka.v1 import common_pb2

TRANSIENT = frozenset(
    {
        ErrorCode.LEDGER_FENCED,
        ErrorCode.LEDGER_LOCKED,
        ErrorCode.LEDGER_UNREACHABLE,
        ErrorCode.SERVER_TIMEOUT,
        ErrorCode.SERVER_UNREACHABLE,
    }
)
"""Refusals of a manifest that waiting may mend."""

Orders = SimpleQueue[Literal["reload", "end"]]
"""What a signal handler tells a party that serves."""


class ManifestRegistrar(Protocol):
    """Where manifests are registered."""

    def register(self, manifest: common_pb2.Manifest, attempts: int | None = None) -> None:
        """Return when the guardian has taken the manifest; raise otherwise, after this many attempts."""


class RegisteredTeachers(Protocol):
    """Teachers that the guardian is told of."""

    @property
    def manifest(self) -> common_pb2.Manifest:
        """What it is told."""


H = TypeVar("H", bound=RegisteredTeachers)


class Hosting(Generic[H]):
    """Teachers that are replaced while they serve: a batch goes on with those it began with."""

    def __init__(
        self,
        load: Callable[[], H],
        link: ManifestRegistrar,
        look_after: Callable[[H], object] = lambda teachers: None,
    ) -> None:
        """Load the first teachers; raises what `load` raises.

        `look_after` is called with those that serve whenever they are registered or read again, and must not
        raise.
        """
        self._load = load
        self._link = link
        self._look_after = look_after
        self._current = load()

    @property
    def current(self) -> H:
        """The teachers for batches that begin now."""
        return self._current

    def register(self, stop: threading.Event) -> None:
        """Register at the guardian, waiting for one that is not up until `stop` is set."""
        while not stop.is_set():
            try:
                return self._link.register(self._current.manifest)
            except OstrakaError as exc:
                if exc.code not in TRANSIENT:
                    raise
                structlog.get_logger().warning("party.waiting_for_guardian", sentence=exc.message)
        return None

    def reload(self) -> None:
        """Serve the teachers that are on disk now; those from before stay where that fails.

        The guardian takes a manifest that changed before they serve, and from then on gives no more tickets
        for sessions that were opened under the old one.
        """
        try:
            found = self._load()
            if found.manifest != self._current.manifest:
                self._link.register(found.manifest)
        except (Exception, SystemExit) as exc:
            problem = exc.message if isinstance(exc, OstrakaError) else type(exc).__name__
            structlog.get_logger().error("party.not_reloaded", problem=problem)
            return
        self._current = found
        structlog.get_logger().info("party.reloaded", training=found.manifest.training)

    @contextmanager
    def kept_up(self, orders: Orders, again_s: float) -> Iterator[None]:
        """Within the block, reload when `orders` say so; register and look after all every `again_s` seconds.

        One thread does both, so that the guardian never ends up with the older of two manifests.
        """
        thread = threading.Thread(target=self._keep_up, args=(orders, again_s), name="hosting", daemon=True)
        thread.start()
        try:
            yield
        finally:
            orders.put("end")
            thread.join(DRAIN_S)

    def _keep_up(self, orders: Orders, again_s: float) -> None:
        while True:
            try:
                order = orders.get(timeout=again_s)
            except Empty:
                self._look_after(self._current)
                self._register_again()
                continue
            if order == "end":
                return
            self.reload()
            self._look_after(self._current)

    def _register_again(self) -> None:
        try:
            self._link.register(self._current.manifest, attempts=1)
        except OstrakaError as exc:
            structlog.get_logger().warning("party.not_registered", code=exc.code, sentence=exc.message)
