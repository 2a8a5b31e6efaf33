"""Editors find where names are defined, in the files that lie in `ostraka/`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.editors.language_server import LanguageServer, serving

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.heavy

USES = (
    ("ostraka/guardian/sessions/coordinator.py", "OstrakaError", "ostraka/common/errors.py"),
    ("ostraka/guardian/sessions/coordinator.py", "Ledger", "ostraka/guardian/ledger/ledger.py"),
    ("ostraka/guardian/serving/server.py", "GuardianService", "ostraka/guardian/serving/service.py"),
    ("ostraka/guardian/ledger/ledger.py", "Transaction", "ostraka/guardian/ledger/transaction.py"),
    ("ostraka/services/voting/voting.py", "Permission", "ostraka/services/admission/grants.py"),
    ("ostraka/services/party.py", "TrainingInput", "ostraka/services/hosting/training_input.py"),
    ("ostraka/client/querier.py", "PlanOptions", "ostraka/client/run/options.py"),
    ("ostraka/client/session/session.py", "OstrakaError", "ostraka/common/errors.py"),
    ("ostraka/mechanisms.py", "GnMax", "ostraka/common/mechanism/gnmax.py"),
    ("tests/guardian/federation.py", "GuardianStub", "ostraka/protos/ostraka/v1/guardian_pb2_grpc.pyi"),
)
"""Files that use a name, and where it is defined."""


@pytest.fixture(scope="module")
def server() -> Iterator[LanguageServer]:
    with serving(ROOT) as started:
        yield started


@pytest.mark.parametrize(("file", "name", "home"), USES)
def test_a_definition_is_found_where_it_lies(server: LanguageServer, file: str, name: str, home: str) -> None:
    path = ROOT / file
    server.open(path)
    lines = path.read_text().split("\n")
    line = next(number for number, text in enumerate(lines) if re.search(rf"\b{name}\b", text))
    found = server.definition(path, line, lines[line].index(name))
    assert [path.relative_to(ROOT).as_posix() for path, _ in found][:1] == [home]
