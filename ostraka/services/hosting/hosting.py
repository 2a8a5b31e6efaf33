"""The currently served teachers: loaded from the party's folder, and registered with the guardian."""

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
"""Batch sizes of zeros that teachers vote on before they serve. First calls are slow in many libraries; and a
teacher that fails on zeros now could later not be distinguished from a failed device."""


@dataclass(frozen=True)
class Hosted:
    """Everything that answers a batch, from its first call to its last.

    Attributes:
        manifest: the declaration of the teachers for the guardian.
        terms: which requests are answered.
        teachers: the voting models.
        records: labelled records, if the policy lets them answer themselves.
        heads: of all teachers, for encrypted queries; empty if `terms.head` is empty or not allowed.
        models: the teachers' models, in GPU memory.
    """

    manifest: common_pb2.Manifest
    terms: RequestTerms
    teachers: Teachers
    records: Records | None = field(repr=False)
    heads: Sequence[EncryptedHead] = field(repr=False)
    models: "Models" = field(repr=False)

    def make_room(self, device: Device, *, unload: bool) -> None:
        """Free the GPUs' memory before other teachers are loaded, or warn if it does not suffice for both."""
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
        """Let all teachers vote on a record of zeros; raise `server.device_gone` if their device has
        failed."""
        self.teachers.vote_on_zeros(self.terms.declared.cohorts)


@dataclass(frozen=True)
class Loader:
    """Loads the teachers of one site, repeatedly.

    Attributes:
        folder: of the site, with `teachers/`.
        site: the site's name.
        task: the task that the teachers must have been trained for.
        policy: the operator's policy.
        votes_per_person: maximum number of votes in one query that one person's records can change.
        thread: where teachers vote, on its device.
    """

    folder: Path
    site: str
    task: Task
    policy: PartyPolicy
    votes_per_person: int
    thread: PredictionThread

    def load(self) -> Hosted:
        """Load the current teachers from disk, and warm them up.

        Raises `model.invalid`, `task.mismatch`, `server.device_gone` if teachers fail on a record of zeros,
        or `config.invalid` and `data.*` for labelled records.
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
        """Return the party's labelled records, if they may answer themselves.

        A party that names no file of records does not answer sums, but still votes.

        Raises `config.invalid` for multi-label counts, which no mechanism uses, for counts if a person has
        more records than the declared votes per person, and for a party without teachers whose records may
        answer nothing; `task.numeric` for votes by numbers.
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
    """Return a batch size that keeps the ensemble's device busy but lets others have a turn soon."""
    if ensemble.manifest.library in ("sklearn", "none"):
        return MICRO_BATCH
    return MICRO_BATCH if device.is_cpu else MICRO_BATCH_ON_GPU


Orders = SimpleQueue[Literal["reload", "end"]]
"""Orders from a signal handler to a serving party."""


class ManifestRegistrar(Protocol):
    """Registers manifests."""

    def register(self, manifest: common_pb2.Manifest, attempts: int | None = None) -> None:
        """Return when the guardian has accepted the manifest; raise otherwise, after this many attempts."""


class RegisteredTeachers(Protocol):
    """Teachers that are registered with the guardian."""

    @property
    def manifest(self) -> common_pb2.Manifest:
        """The declaration for the guardian."""


H = TypeVar("H", bound=RegisteredTeachers)


class Hosting(Generic[H]):
    """Teachers that are replaced while they serve: a batch continues with the teachers it began with."""

    def __init__(
        self,
        load: Callable[[], H],
        link: ManifestRegistrar,
        look_after: Callable[[H], object] = lambda teachers: None,
        make_room: Callable[[H], object] = lambda teachers: None,
    ) -> None:
        """Load the first teachers; raises what `load` raises.

        `look_after` is called with the current teachers whenever they are registered or reloaded, `make_room`
        before new teachers are loaded next to them; neither may raise.
        """
        self._load = load
        self._link = link
        self._look_after = look_after
        self._make_room = make_room
        self._current = load()

    @property
    def current(self) -> H:
        """The teachers for new batches."""
        return self._current

    def register(self, stop: threading.Event) -> None:
        """Register with the guardian; wait until it is up or `stop` is set."""
        while not stop.is_set():
            try:
                return self._link.register(self._current.manifest)
            except OstrakaError as exc:
                # The guardian's operator has to look at an internal error: waiting does not help.
                if exc.code.retry is not Retry.SAME or exc.code is ErrorCode.INTERNAL:
                    raise
                structlog.get_logger().warning("party.waiting_for_guardian", sentence=exc.message)
        return None

    def reload(self) -> None:
        """Load the teachers on disk and serve them; keep the previous ones if that fails.

        A changed manifest is registered before they serve. From then on, the guardian issues no tickets for
        sessions that were opened under the old one.
        """
        self._make_room(self._current)
        try:
            found = self._load()
            # Registered before they serve: the guardian must never charge by an older manifest than the
            # voters'.
            if found.manifest != self._current.manifest:
                self._link.register(found.manifest)
        # SystemExit too, which a factory's module may raise during import.
        except (Exception, SystemExit) as exc:
            problem = exc.message if isinstance(exc, OstrakaError) else type(exc).__name__
            structlog.get_logger().error("party.not_reloaded", problem=problem)
            return
        self._current = found
        structlog.get_logger().info("party.reloaded", training=found.manifest.training)

    @contextmanager
    def keep_up(self, orders: Orders, again_s: float) -> Iterator[None]:
        """In the block, reload on `orders`; register and call `look_after` every `again_s` seconds.

        One thread does both, so the guardian never ends up with the older of two manifests.
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
