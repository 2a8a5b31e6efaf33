"""Checks specific to one role: its tables in site.toml, a party's task, records and teachers, a ledger."""

import socket
from pathlib import Path
from typing import TYPE_CHECKING

from ostraka.common.config import SiteConfig, load_section, load_site, split_address
from ostraka.common.console.texts import count_text
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.telemetry.registry import TelemetrySection
from ostraka.deploy.site.finding import Finding, failure, ok

if TYPE_CHECKING:
    from ostraka.common.task import Task

TABLES = "site.toml tables"


def tables(folder: Path, role: str) -> Finding:
    """Whether the tables that a server of this role reads are valid, and what its policy allows."""
    from ostraka.common.mechanism.allowed import describe_allowed

    words = ""
    try:
        _apart(load_site(folder).listen, load_section(folder, "telemetry", TelemetrySection).metrics)
        if role == "guardian":
            from ostraka.guardian.ledger.site import ledger_location
            from ostraka.guardian.policy import load_policy

            words = describe_allowed(load_policy(folder).mechanisms)
            ledger_location(folder)
        elif role == "party":
            from ostraka.services.admission.policy import PartyPolicy, PartySection

            load_section(folder, "party", PartySection)
            words = describe_allowed(load_section(folder, "policy", PartyPolicy).mechanisms)
        elif role == "query":
            from ostraka.client.run.site import QuerySection

            load_section(folder, "query", QuerySection)
        elif role == "relay":
            from ostraka.relay.section import RelayServerSection

            load_section(folder, "relay", RelayServerSection)
        if role != "relay":
            from ostraka.common.relay.section import RelaySection

            load_section(folder, "relay", RelaySection)
    except OstrakaError as error:
        return failure(TABLES, error.message)
    return ok(TABLES, f"Its tables are valid. {words}".rstrip())


def _apart(listen: str, metrics: str | None) -> None:
    """Raise config.invalid if a server and its metrics share a port."""
    if not listen or not metrics:
        return
    if split_address(listen)[1] == split_address(metrics)[1] != 0:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"`listen` and `metrics` in site.toml share port {split_address(listen)[1]}; give one of them"
            " another.",
        )


TASK = "task"
TEACHING = "teachers"
RECORDS = "records"
TASK_FILE = "task.toml"


def task_file(path: Path) -> Finding:
    """Whether the federation's task exists and is readable."""
    from ostraka.common.task import load_task

    try:
        task = load_task(path)
    except OstrakaError as error:
        return failure(TASK, error.message)
    columns = task.input.sources or task.columns
    learned = f"{len(task.classes)} classes" if task.target is None else f"a number, {task.target.words()}"
    return ok(TASK, f"'{task.name}' has {len(columns)} columns and {learned}.")


def party_task(folder: Path) -> Path:
    """Return the place of a party's task; raises config.invalid."""
    from ostraka.services.admission.policy import PartySection

    return folder / load_section(folder, "party", PartySection).task


def teachers(folder: Path) -> Finding:
    """Whether a party's teachers load and were trained for its task."""
    from ostraka.common.task import load_task
    from ostraka.services.teachers import Ensemble
    from ostraka.services.teachers.config import TEACHERS

    if not (folder / TEACHERS).is_dir():
        return failure(TEACHING, "There are no teachers yet; train them with `ostraka party train`.")
    try:
        task = load_task(party_task(folder))
        ensemble = Ensemble.load(folder / TEACHERS)
        ensemble.require_task(task)
    except OstrakaError as error:
        return failure(TEACHING, error.message)
    if not ensemble.manifest.teachers:
        return ok(
            TEACHING,
            f"There are no teachers: {ensemble.manifest.records} records of the task answer only sums.",
        )
    return ok(TEACHING, f"{ensemble.manifest.teachers} teachers load and fit the task '{task.name}'.")


def records(folder: Path) -> Finding:
    """Whether the records that site.toml names for training, if any, fit the task."""
    from ostraka.common.task import load_task
    from ostraka.services.teachers.config import TrainingSection

    try:
        section = load_section(folder, "training", TrainingSection)
        if section.data is None:
            return ok(RECORDS, "site.toml names no records; `ostraka party train --data` does.")
        return _fit(folder / section.data, load_task(party_task(folder)), section.abstains)
    except OstrakaError as error:
        return failure(RECORDS, error.message)


def _fit(data: Path, task: "Task", abstains: tuple[str, ...]) -> Finding:
    found = task.load(data, ignored=abstains)
    return ok(RECORDS, f"{count_text(len(found), 'record')} in {data} fit the task '{task.name}'.")


NOISE = "noise"
LEDGER = "ledger"
KEY = "ledger key"
TIMEOUT_S = 3.0
POSTGRES_PORT = 5432  # PostgreSQL's own, if the URL names none


def noise(site: SiteConfig) -> Finding:
    """Whether the guardian's noise source exists and passes its self-test."""
    from ostraka.guardian.noise import open_noise

    try:
        open_noise(site.noise)
    except OstrakaError as error:
        return failure(NOISE, error.message)
    return ok(NOISE, f"The sampler of its noise, {site.noise}, passes its self-test.")


def ledger(folder: Path) -> Finding:
    """Whether the ledger opens and has this version, and its key exists."""
    from ostraka.guardian.ledger import LedgerReader
    from ostraka.guardian.ledger.site import ledger_location
    from ostraka.guardian.ledger.store.cipher import KEY_FILE

    try:
        where = ledger_location(folder)
        if isinstance(where, str):
            _reach(where)
        LedgerReader.open_read_only(where).close()
    except OstrakaError as error:
        if error.code is ErrorCode.LEDGER_MISSING:
            return _none_yet(folder / KEY_FILE)
        return failure(LEDGER, error.message)
    name = str(where) if isinstance(where, Path) else "the database"
    return ok(LEDGER, f"The ledger in {name} opens and is of this version.")


def ledger_key(folder: Path) -> Finding:
    """Whether the key of data-dependent sums exists, readable only by its owner."""
    from ostraka.guardian.ledger.site import ledger_location
    from ostraka.guardian.ledger.store.cipher import KEY_FILE, load_or_create_key

    path = folder / KEY_FILE
    try:
        if path.exists():
            load_or_create_key(folder)
            return ok(KEY, f"{path} is there; keep a copy of it apart from the ledger's backups.")
        where = ledger_location(folder)
    except OstrakaError as error:
        return failure(KEY, error.message)
    if isinstance(where, Path) and where.exists():
        return failure(KEY, f"{path} is missing; put back the one that belongs to {where}.")
    return ok(KEY, f"{path} is made at the first start; replicas need a copy of the first one's.")


def _none_yet(key: Path) -> Finding:
    if key.exists():
        return failure(
            LEDGER,
            f"{key} is there and its ledger is not; put the ledger back (`ostraka guardian ledger restore`),"
            " or remove the key to begin a new one.",
        )
    return ok(LEDGER, "There is no ledger yet; it is made at the first start.")


def _reach(url: str) -> None:
    """Raise ledger.unreachable if nobody listens at a database's address, sooner than its driver does."""
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        parsed = make_url(url)
    except ArgumentError:
        return
    if not parsed.host or parsed.host.startswith("/"):
        return
    try:
        socket.create_connection((parsed.host, parsed.port or POSTGRES_PORT), TIMEOUT_S).close()
    except OSError as error:
        raise OstrakaError(
            ErrorCode.LEDGER_UNREACHABLE,
            f"Nothing answers at {parsed.host}:{parsed.port or POSTGRES_PORT} ({error}), where the ledger's"
            " database should; check that it runs, and its URL.",
        ) from error
