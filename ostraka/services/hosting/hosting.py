"""The teachers that are served now: read from the party's folder, and registered at the guardian."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypeVar

import structlog

from ostraka.common.config import load_section
from ostraka.common.crypto.heads import EncryptedHead
from ostraka.common.errors import ErrorCode, OstrakaError, Retry
from ostraka.common.learning.device import Device
from ostraka.common.plan.encodings import encoding_of
from ostraka.common.rpc.serving import DRAIN_S
from ostraka.common.task import Task
from ostraka.protos.ostraka.v1 import common_pb2
from ostraka.services.admission.manifest_terms import declaration
from ostraka.services.admission.policy import PartyPolicy
from ostraka.services.admission.request_checks import RequestTerms
from ostraka.services.hosting.ballots import Teachers
from ostraka.services.hosting.contributions import check_policy
from ostraka.services.hosting.prediction_thread import (
    MICRO_BATCH,
    MICRO_BATCH_ON_GPU,
    OnThread,
    PredictionThread,
)
from ostraka.services.hosting.records import Records
from ostraka.services.teachers.config import TEACHERS, TrainingSection

if TYPE_CHECKING:
    from ostraka.services.teachers import Ensemble
    from ostraka.services.teachers.ensemble import Models

WARM_UP = (1, 128)
"""Queries of zeros that teachers vote on before they serve: first calls are slow in many libraries, and who
cannot take one then could not be told from a device that is gone later."""


@dataclass(frozen=True)
class Hosted:
    """What answers a batch, from its first call to its last.

    Attributes:
        manifest: what the guardian is told of the teachers.
        terms: what is answered at all.
        teachers: who vote.
        records: labelled ones, where the policy lets them answer themselves.
        heads: of all teachers, for encrypted queries; none where `terms.head` is empty or not allowed.
        models: of the teachers, which cards hold.
    """

    manifest: common_pb2.Manifest
    terms: RequestTerms
    teachers: Teachers
    records: Records | None = field(repr=False)
    heads: Sequence[EncryptedHead] = field(repr=False)
    models: "Models" = field(repr=False)

    def make_room(self, device: Device, *, unload: bool) -> None:
        """Free the GPUs' memory before other teachers are loaded, or report that it does not suffice for
        both."""
        if unload:
            self.models.unload()
            return
        cards = list(device.memory())
        needed = self.models.memory_bytes() // max(1, len(cards))
        for card in cards:
            if card.all - card.used < needed:
                structlog.get_logger().warning(
                    "party.no_room_beside", card=card.card, needed=needed, option="unload_first"
                )

    def probe(self) -> None:
        """Ask all teachers a record of zeros; raises `server.device_gone` where their device is."""
        self.teachers.vote_on_zeros(self.terms.declared.cohorts)


@dataclass(frozen=True)
class Loader:
    """Reads the teachers of one site, again and again.

    Attributes:
        folder: of the site, with `teachers/`.
        site: its name.
        task: what the teachers must have been trained for.
        policy: the operator's.
        votes_per_person: that one person's records can change in one query.
        thread: on which they vote, on its device.
    """

    folder: Path
    site: str
    task: Task
    policy: PartyPolicy
    votes_per_person: int
    thread: PredictionThread

    def load(self) -> Hosted:
        """Load the teachers as they are on disk now, warmed up.

        Raises `model.invalid`, `task.mismatch`, `server.device_gone` where teachers cannot take a record of
        zeros, or `config.invalid` and `data.*` for labelled records.
        """
        from ostraka.services.teachers import Ensemble
        from ostraka.services.teachers.encrypted_heads import heads_of

        ensemble = Ensemble.load(self.folder / TEACHERS, self.thread.device)
        ensemble.require_task(self.task)
        manifest = declaration(ensemble.manifest, self.site, self.votes_per_person)
        most = _micro_batch(ensemble, self.thread.device)
        on_thread = OnThread(self.thread, ensemble, most)
        teachers = Teachers(on_thread, ensemble.manifest.teachers, self.task, most)
        terms = RequestTerms.of(self.task, self.policy, ensemble.manifest, self.votes_per_person)
        for queries in WARM_UP:
            teachers.vote_on_zeros(terms.declared.cohorts, queries)
        encrypted = terms.head and encoding_of(terms.head) in self.policy.encodings
        heads = heads_of(ensemble) if encrypted else ()
        records = self._records(ensemble)
        if records is not None:
            for place, group in enumerate(manifest.groups):
                summed = int((records.groups == place).sum())
                group.summed_records = summed if summed < group.records else 0
        return Hosted(manifest, terms, teachers, records, heads, ensemble.models)

    def _records(self, ensemble: "Ensemble") -> Records | None:
        """Return the labelled records that the party told of, where they may answer themselves.

        A party that names no file of them answers no sums, and votes all the same.

        Raises `config.invalid` for counts of several labels, which no mechanism asks for, for counts where
        somebody has more records than the party says that one person changes votes, and for a party whose
        records may answer nothing though it has no teachers; `task.numeric` for votes by numbers.
        """
        votes = self.policy.label_counts is not None or self.policy.randomized_labels
        if not votes and not self.policy.allows_sums:
            self._require_teachers(
                ensemble,
                "its policy lets its records answer nothing: add"
                ' mechanisms = ["sums"] to [policy] of site.toml',
            )
            return None
        if votes:
            self.task.require_classes("label_counts or randomized_labels in [policy]")
        if self.policy.label_counts is not None and self.task.multi_label:
            raise OstrakaError(
                ErrorCode.CONFIG_INVALID,
                f"policy.label_counts is for single-label tasks and '{self.task.name}' is multi-label: take "
                "it out of site.toml.",
            )
        section = load_section(self.folder, "training", TrainingSection)
        if section.data is None and not votes:
            self._require_teachers(
                ensemble, 'no records are named: add data = "FILE" to [training] of site.toml'
            )
            structlog.get_logger().warning("party.no_records_for_sums")
            return None
        file = self.folder / section.required_data
        data = self.task.load(file, ignored=section.abstains)
        persons = check_policy(self.task, data, self.policy, self.votes_per_person)
        summed = None if persons is None else persons.choose(self.votes_per_person, data.ids or ())
        return Records.of(data, file, self.task, ensemble.manifest, ensemble.encoder, summed=summed)

    def _require_teachers(self, ensemble: "Ensemble", otherwise: str) -> None:
        if not ensemble.manifest.teachers:
            raise OstrakaError(
                ErrorCode.CONFIG_INVALID,
                f"This party has no teachers, and {otherwise}, or train teachers.",
            )


def _micro_batch(ensemble: "Ensemble", device: Device) -> int:
    """Return how many queries keep the ensemble's device busy, few enough that others soon have a turn."""
    if ensemble.manifest.library in ("sklearn", "none"):
        return MICRO_BATCH
    return MICRO_BATCH if device.is_cpu else MICRO_BATCH_ON_GPU


Orders = SimpleQueue[Literal["reload", "end"]]
"""What a signal handler tells a party that serves."""


class ManifestRegistrar(Protocol):
    """Where manifests are registered."""

    def register(self, manifest: common_pb2.Manifest, attempts: int | None = None) -> None:
        """Return when the guardian has taken the manifest; raise otherwise, after this many attempts."""


class RegisteredTeachers(Protocol):
    """Teachers that are registered with the guardian."""

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
        make_room: Callable[[H], object] = lambda teachers: None,
    ) -> None:
        """Load the first teachers; raises what `load` raises.

        `look_after` is called with those that serve whenever they are registered or read again, `make_room`
        before others are read beside them; neither may raise.
        """
        self._load = load
        self._link = link
        self._look_after = look_after
        self._make_room = make_room
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
                # A mistake of the guardian's is for its operator to look at: waiting mends none.
                if exc.code.retry is not Retry.SAME or exc.code is ErrorCode.INTERNAL:
                    raise
                structlog.get_logger().warning("party.waiting_for_guardian", sentence=exc.message)
        return None

    def reload(self) -> None:
        """Serve the teachers that are on disk now; those from before stay where that fails.

        The guardian takes a manifest that changed before they serve, and from then on gives no more tickets
        for sessions that were opened under the old one.
        """
        self._make_room(self._current)
        try:
            found = self._load()
            # Registered before they serve: the guardian must never charge by an older manifest than votes.
            if found.manifest != self._current.manifest:
                self._link.register(found.manifest)
        # SystemExit too, which a factory's module may raise while it is imported.
        except (Exception, SystemExit) as exc:
            problem = exc.message if isinstance(exc, OstrakaError) else type(exc).__name__
            structlog.get_logger().error("party.not_reloaded", problem=problem)
            return
        self._current = found
        structlog.get_logger().info("party.reloaded", training=found.manifest.training)

    @contextmanager
    def keep_up(self, orders: Orders, again_s: float) -> Iterator[None]:
        """Within the block, reload when `orders` say so; register and look after all every `again_s` seconds.

        One thread does both, so that the guardian never ends up with the older of two manifests.
        """
        thread = threading.Thread(
            target=self._follow_orders, args=(orders, again_s), name="hosting", daemon=True
        )
        thread.start()
        try:
            yield
        finally:
            orders.put("end")
            thread.join(DRAIN_S)

    def _follow_orders(self, orders: Orders, again_s: float) -> None:
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
