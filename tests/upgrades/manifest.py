"""What a frozen version recorded about its own fixtures: later versions must read the same."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ostraka import Labels
from ostraka.common.identity.credentials import CA_CERT
from ostraka.common.validation import FrozenModel
from ostraka.guardian.admin.upkeep import verify_archives
from ostraka.guardian.ledger import LedgerReader
from ostraka.guardian.ledger.log import audit
from ostraka.guardian.ledger.units import balances
from ostraka.services.journal.journal import Journal
from tests.upgrades.federation import PARTIES, Federation

MANIFEST = "manifest.json"


class UnitNumbers(FrozenModel):
    """A unit's budget, in the ledger's whole amounts."""

    unit: tuple[str, str, str]
    epsilon: float
    delta: float
    order: float
    spent: int
    reserved: int


class LedgerNumbers(FrozenModel):
    """Every unit, and the last row of the audit log with its hash (hex)."""

    units: tuple[UnitNumbers, ...]
    row: int
    hash: str


class Answers(FrozenModel):
    """The querying party's labels, their worst-case cost by party, and how many records it counted."""

    labels: tuple[str, ...]
    epsilons: dict[str, float]
    counted: float


class Manifest(FrozenModel):
    """A version, and its numbers.

    Attributes:
        version: as `ostraka.__version__`.
        commit: commit of the code that wrote the fixtures.
        made_unix_s: when; certificates are valid then.
        fingerprint: fingerprint of the CA's certificate.
        kit: name of the unopened kit, for the coordinator.
        ledgers: by backend, "sqlite" and "postgresql".
        receipts: receipts of the first party's journal: session, batch, group, queries.
        answers: answers to the querying party.
        archive: result of its verification.
    """

    version: str
    commit: str
    made_unix_s: int
    fingerprint: str
    kit: str
    ledgers: dict[str, LedgerNumbers]
    receipts: tuple[tuple[str, int, str, int], ...]
    answers: Answers
    archive: dict[str, Any]

    @classmethod
    def load(cls, folder: Path) -> "Manifest":
        """Read the manifest of a version's folder."""
        return cls.model_validate_json((folder / MANIFEST).read_bytes())

    def save(self, folder: Path) -> None:
        """Write it into a version's folder."""
        text = json.dumps(self.model_dump(mode="json"), indent=1, sort_keys=True)
        (folder / MANIFEST).write_text(text + "\n")


def read_ledger(ledger: LedgerReader) -> LedgerNumbers:
    """Return the numbers of a ledger."""
    head = ledger.read(audit.head)
    units = tuple(
        UnitNumbers(
            unit=(found.key.party, found.key.group, found.key.adjacency),
            epsilon=found.epsilon,
            delta=found.delta,
            order=found.order,
            spent=found.spent,
            reserved=found.reserved,
        )
        for found in ledger.read(balances.all_budgets)
    )
    return LedgerNumbers(units=units, row=head.sequence, hash=head.hash.hex())


def read_receipts(federation: Federation) -> tuple[tuple[str, int, str, int], ...]:
    """Return the receipts of the first party."""
    with Journal(federation.site(PARTIES[0]) / "journal.db") as journal:
        return tuple(
            (session, batch, charge.group, charge.queries) for session, batch, charge in journal.receipts()
        )


def read_answers(federation: Federation) -> Answers:
    """Return what the querying party has, read only from its run folders."""
    report = federation.querier.report(federation.run)
    return Answers(
        labels=Labels.read(federation.run)["label"],
        epsilons={party["site"]: party["epsilon_worst_case"] for party in report["parties"]},
        counted=federation.querier.report(federation.counts)["records"]["estimate"],
    )


def read_archive(federation: Federation) -> dict[str, Any]:
    """Verify only the archive, and return its numbers."""
    return asdict(verify_archives([federation.archive], federation.site("ca") / CA_CERT, None))
