"""Files of a later version are refused in a sentence with a code, and stay as they are."""

import gzip
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from ostraka.client.describing.describing import FILE as DESCRIBE_FILE
from ostraka.client.fitting.fit_state import FIT_FILE, load_fit
from ostraka.client.probing.probe import PROBE_FILE, ProbeState, open_probe
from ostraka.client.run.rounds_state import ROUNDS_FILE, load_rounds
from ostraka.client.session.run_state import STATE_FILE
from ostraka.client.sums.sum_store import STATE_FILE as SUMS_FILE
from ostraka.client.sums.sum_store import SumStore
from ostraka.client.training.training_state import FILE as TRAINING_FILE
from ostraka.client.training.training_state import TrainingStore
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity.credentials import CA_CERT
from ostraka.deploy.provisioning.sealing import SEAL
from ostraka.deploy.site.keys import init
from ostraka.guardian.admin import upkeep
from ostraka.services.journal.journal import Journal
from tests.upgrades.conftest import Frozen
from tests.upgrades.federation import GUARDIAN, PARTIES

LATER = 99


def refusal(opened: Callable[[], object], path: Path, code: ErrorCode) -> None:
    """Check that opening a file is refused with a code and its name, and leaves it as it is."""
    before = path.read_bytes()
    with pytest.raises(OstrakaError) as refused:
        opened()
    assert refused.value.code is code
    assert str(path) in refused.value.message
    assert path.read_bytes() == before


def put_later(path: Path) -> None:
    """Give a JSON file a later version, with a field that no version has yet."""
    told = json.loads(path.read_bytes()) if path.exists() else {}
    path.write_text(json.dumps(told | {"version": LATER, "later": 1}))


def put_into_database(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(statement)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def test_a_ledger(frozen: Frozen) -> None:
    folder = frozen.federation.site(GUARDIAN)
    put_into_database(folder / "ledger.db", "UPDATE meta SET schema_version = 99")
    refusal(lambda: upkeep.migrate(folder), folder / "ledger.db", ErrorCode.LEDGER_NEWER)


def test_a_journal(frozen: Frozen) -> None:
    path = frozen.federation.site(PARTIES[0]) / "journal.db"
    put_into_database(path, "PRAGMA user_version = 99")
    refusal(lambda: Journal(path), path, ErrorCode.LEDGER_NEWER)


def test_an_archive(frozen: Frozen) -> None:
    path = frozen.federation.archive
    first, *others = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    later = json.loads(first) | {"versions": [LATER, LATER]}
    path.write_bytes(gzip.compress(json.dumps(later).encode() + b"\n" + b"".join(others)))
    ca = frozen.federation.site("ca") / CA_CERT
    refusal(lambda: upkeep.verify_archives([path], ca, None), path, ErrorCode.LEDGER_NEWER)


def test_a_kit(frozen: Frozen) -> None:
    kit = frozen.federation.kit
    put_later(kit / SEAL)
    refusal(lambda: init(kit, frozen.manifest.fingerprint), kit / SEAL, ErrorCode.DATA_NEWER)


def test_run_folders(frozen: Frozen) -> None:
    federation = frozen.federation
    for folder, name in ((federation.run, STATE_FILE), (federation.counts, DESCRIBE_FILE)):
        put_later(folder / name)
        refusal(lambda: federation.querier.report(folder), folder / name, ErrorCode.DATA_NEWER)  # noqa: B023


@pytest.mark.parametrize(
    ("name", "load"), [(ROUNDS_FILE, load_rounds), (FIT_FILE, load_fit), (SUMS_FILE, SumStore.load)]
)
def test_other_files_of_runs(tmp_path: Path, name: str, load: Callable[[Path], object]) -> None:
    put_later(tmp_path / name)
    refusal(lambda: load(tmp_path), tmp_path / name, ErrorCode.DATA_NEWER)


def test_a_probe(tmp_path: Path) -> None:
    drawn = ProbeState(task_digest="", labelled_sha256="", parties=("a",), size=1, rows=((0,),))
    put_later(tmp_path / PROBE_FILE)
    refusal(lambda: open_probe(tmp_path, drawn), tmp_path / PROBE_FILE, ErrorCode.DATA_NEWER)


def test_a_training(tmp_path: Path) -> None:
    path = tmp_path / TRAINING_FILE
    save_file({"theta": np.zeros(1), "c": np.zeros(1)}, path, {"progress": json.dumps({"version": LATER})})
    refusal(lambda: TrainingStore.load(tmp_path), path, ErrorCode.DATA_NEWER)
