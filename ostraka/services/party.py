"""The answering party's Python API: what `ostraka party` does."""

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ostraka.common.console.cli import write_file
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.device import Device
from ostraka.common.task import Source
from ostraka.common.telemetry import configure_logging_once, progress
from ostraka.services.hosting.training_input import TrainingInput
from ostraka.services.serving.status import PartyStatus, party_status
from ostraka.services.teachers.config import TEACHERS, Progress, is_file
from ostraka.services.teachers.manifest import TeachersManifest
from ostraka.services.teachers.options import TeacherOptions, Where

if TYPE_CHECKING:
    from ostraka.services.teachers import Ensemble
    from ostraka.services.teachers.recipes import FitGroups

UNFINISHED = "teachers.unfinished"
"""Folder of an unfinished training."""


class Party:
    """An answering party: trains teachers on its own records, and answers with shares of their votes."""

    def __init__(self, site: Path | str) -> None:
        """Take the folder of a party's site, as `ostraka provision` made it."""
        self.site = Path(site)

    def train(
        self,
        records: Source | None = None,
        options: TeacherOptions | None = None,
        *,
        task: Path | str | None = None,
        on: Where = "here",
    ) -> TeachersManifest:
        """Train this party's teachers on slices of its records, and store them; resume after an interruption.

        Exported models are stored unchanged. Without teachers, for example for a numeric target, only a
        declaration of the records is stored. Joint training with other parties is done by `ostraka party
        train --training`, which serves during the training.

        Args:
            records: a file, table or `Dataset` of labelled records; default: `data` in table training.
            options: options that override table training of site.toml.
            task: task file; default: the site's own.
            on: train here, or as tasks of the Ray cluster at RAY_ADDRESS.

        Raises:
            OstrakaError: `config.invalid` with the invalid key or option, `data.*`, `task.mismatch`,
                `model.*`, `device.missing`.
        """
        file = None if task is None else Path(task)
        given = TrainingInput.load(self.site, records, file, **dict(options or TeacherOptions()))
        return train_on(given, on)

    @contextmanager
    def serve(self, *, insecure: bool = False) -> Iterator[str]:
        """Answer in the block, and yield this party's address; drain at its end.

        Waits for the guardian. `insecure` serves without TLS, for loopback only. Raises `config.invalid`,
        `task.mismatch`, `model.invalid`, `ledger.*`, `server.*`, or the guardian's refusal of the teachers.
        """
        from ostraka.services.serving.server import running

        configure_logging_once()
        with running(self.site, stop=threading.Event(), insecure=insecure) as address:
            yield address

    def audit_head(self, out: Path | str) -> int:
        """Write the latest head of the guardian's audit log that this party received; return its number.

        `Guardian.audit` checks that it is in the log. Raises `data.missing` if none was received yet.
        """
        from ostraka.services.journal.journal import Journal

        with Journal(self.site / "journal.db") as journal:
            head = journal.audit_head()
        if head is None:
            raise OstrakaError(
                ErrorCode.DATA_MISSING, "This party has not been sent an audit head yet; serve it first."
            )
        write_file(Path(out), head.SerializeToString())
        return head.sequence

    def status(self) -> PartyStatus:
        """Return this party's certificates, teachers, budgets and answers."""
        return party_status(self.site)


def ray_trains_alone() -> OstrakaError:
    """Return the refusal to train exported models, or jointly with other parties, on Ray."""
    return OstrakaError(
        ErrorCode.CONFIG_INVALID,
        "--on ray is for teachers that this party trains alone: leave it out, or the other option.",
    )


def features_need_alone() -> OstrakaError:
    """Return the refusal to train on shared features in any other way than alone and here."""
    return OstrakaError(
        ErrorCode.CONFIG_INVALID,
        "Teachers learn from shared_features alone and here: take that out of [training] of site.toml, "
        "or leave out --on, --training or the exported models.",
    )


def train_on(given: TrainingInput, on: Where) -> TeachersManifest:
    """Train teachers as `Party.train` does, on records that are already read."""
    from ostraka.services.teachers.held_out import measure_held_out, write_held_out

    alone = not given.section.teachers
    exported = not alone and given.section.model is not None and is_file(given.section.model)
    if on == "ray" and exported:
        raise ray_trains_alone()
    if given.shared is not None and (on == "ray" or exported):
        raise features_need_alone()
    # Before anything is computed: a party configured for a GPU does not fall back to a CPU.
    given.device.require()
    take = _host if exported else partial(_train, on=on)
    ensemble = _declare(given) if alone else take(given)
    held_out = None if alone else measure_held_out(ensemble, given.records, given.task, given.section)
    ensemble.save(given.site / TEACHERS)
    write_held_out(held_out, given.site / TEACHERS)
    # Removed only now: before the ensemble is saved, finished teachers are only in this folder.
    shutil.rmtree(given.site / UNFINISHED, ignore_errors=True)
    return ensemble.manifest


def _declare(given: TrainingInput) -> "Ensemble":
    """Declare records that answer only sums."""
    from ostraka.services.teachers.preparation import declare_records

    return declare_records(
        given.records, given.task, given.section, seed=given.section.seed, device=given.device
    )


def _host(given: TrainingInput) -> "Ensemble":
    """Host exported models unchanged as this party's teachers."""
    from ostraka.services.teachers.exported.models import host

    return host(
        given.records,
        given.task,
        given.section,
        folder=given.site,
        public=given.public,
        device=given.device,
    )


def _train(given: TrainingInput, on: Where) -> "Ensemble":
    from ostraka.services.teachers import train

    unfinished = given.site / UNFINISHED
    with showing(f"Training {given.section.teachers} teachers") as shown:
        return train(
            given.records,
            given.task,
            given.section,
            seed=given.section.seed,
            progress=shown,
            public=given.public,
            shared=given.shared,
            unfinished=unfinished,
            device=given.device,
            fit_groups=_trainer(on, unfinished / "received", given.device),
        )


def _trainer(on: Where, received: Path, device: Device) -> "FitGroups | None":
    """Return the function that trains groups of teachers elsewhere, or None to train here."""
    if on == "here":
        return None
    try:
        from ostraka.services.teachers.on_ray import fit_on_ray
    except ImportError as exc:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, "--on ray needs Ray: install it with `pip install ostraka[ray]`."
        ) from exc
    return fit_on_ray(received, device)


@contextmanager
def showing(what: str) -> Iterator[Progress]:
    """Show a progress bar on the screen during the block."""
    with progress() as bar:
        step = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(step, completed=done, total=total)
