from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ostraka.common.mechanism import Confident, GnMax
from ostraka.deploy.simulation.federation import GUARDIAN, QUERY
from ostraka.deploy.simulation.processes import Start, Supervisor
from ostraka.deploy.simulation.split import Split
from ostraka.guardian.admin.confidential import totals
from ostraka.guardian.admin.verification import verify_ledger
from tests.e2e.confidential import HEADS, Asked, ask, encrypted_logits, placed
from tests.e2e.sites import QUIET, Sites

COMBINATIONS = list(product(("plain", "ckks"), ("aggregate", "blind")))
CLASSES, VOTE = 10, 2**16
CLOSE = 2**-6
"""Two logits closer than this may change places by rounding."""


@pytest.fixture(scope="module")
def sites(
    tmp_path_factory: pytest.TempPathFactory, heads: Path, split: Split, start: Start
) -> Iterator[Sites]:
    folder = tmp_path_factory.mktemp("confidential")
    with Supervisor(folder / "logs", {"OMP_NUM_THREADS": "1"}, start=start) as processes:
        found = placed(folder / "sites", heads, split, processes)
        found.start()
        yield found


@pytest.fixture(scope="module")
def logits(sites: Sites) -> NDArray[np.float64]:
    """Of all teachers, (teachers, queries, classes)."""
    return encrypted_logits(sites)


@pytest.fixture(scope="module")
def histogram(logits: NDArray[np.float64]) -> NDArray[np.int64]:
    return votes_of(logits)


@pytest.fixture(scope="module")
def asked(sites: Sites) -> Callable[[str, str], Asked]:
    """Return a function that gives the session in a combination, asked once."""

    @cache
    def session(encoding: str, tally: str) -> Asked:
        return ask(sites, GnMax(sigma=QUIET), f"{encoding}-{tally}", encoding=encoding, tally=tally)

    return session


def votes_of(logits: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return how many teachers (teachers, queries, classes) vote for each class of each query."""
    return np.stack([np.bincount(votes, minlength=CLASSES) for votes in logits.argmax(axis=2).T])


def leads(histogram: NDArray[np.int64], logits: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Where one class wins even if every teacher that was close to another changed its mind."""
    ordered = np.sort(logits, axis=2)
    close = (ordered[:, :, -1] - ordered[:, :, -2] < CLOSE).sum(axis=0)
    counts = np.sort(histogram, axis=1)
    led: NDArray[np.bool_] = counts[:, -1] - counts[:, -2] > 2 * close
    return led


@pytest.mark.parametrize(
    "combination",
    [*COMBINATIONS[:-1], pytest.param(COMBINATIONS[-1], marks=pytest.mark.processes)],
    ids="-".join,
)
def test_labels_are_the_plurality_of_the_teachers_votes(
    asked: Callable[[str, str], Asked],
    logits: NDArray[np.float64],
    histogram: NDArray[np.int64],
    combination: tuple[str, str],
) -> None:
    session, led = asked(*combination), leads(histogram, logits)
    assert session.result.answered == HEADS.records.queries
    assert led.sum() > HEADS.records.queries / 2
    np.testing.assert_array_equal(session.labels[led], histogram.argmax(axis=1)[led])


@pytest.mark.parametrize("encoding", ["plain", "ckks"])
def test_a_blind_check_lets_those_pass_whose_votes_agree(
    sites: Sites, logits: NDArray[np.float64], histogram: NDArray[np.int64], encoding: str
) -> None:
    votes = HEADS.votes
    mechanism = Confident(sigma1=QUIET, sigma2=QUIET, threshold=votes - 0.5)
    session = ask(sites, mechanism, f"check-{encoding}", encoding=encoding, tally="blind")
    close = (np.diff(np.sort(logits, axis=2)[:, :, -2:]) < CLOSE).any(axis=(0, 2))
    agreed = histogram.max(axis=1) == votes
    assert 0 < agreed.sum() < HEADS.records.queries
    expected = np.where(agreed, histogram.argmax(axis=1), -1)
    np.testing.assert_array_equal(session.labels[~close], expected[~close])


def test_what_is_tallied_blindly_is_charged_at_worst(
    asked: Callable[[str, str], Asked], sites: Sites
) -> None:
    assert {asked(*one).result.bound for one in COMBINATIONS if one[1] == "blind"} == {"worst_case"}
    assert {asked(*one).result.bound for one in COMBINATIONS if one[1] == "aggregate"} == {"exact"}
    for unit in totals(sites.folder / GUARDIAN):
        assert 0 < unit["epsilon_data_dependent"] <= unit["epsilon_worst_case"]
    assert verify_ledger(sites.folder / GUARDIAN / "ledger.db", sites.folder / GUARDIAN / "ca.crt", [])


def test_no_site_keeps_a_query_a_logit_or_a_vote(
    asked: Callable[[str, str], Asked],
    sites: Sites,
    logits: NDArray[np.float64],
    histogram: NDArray[np.int64],
) -> None:
    assert all(asked(*one).result.answered for one in COMBINATIONS)
    divided = histogram[(histogram > 0).sum(axis=1) > 1]
    assert len(divided)
    secrets = {
        **needles("queries", sites.task.prepare(sites.split.pool.X)),
        **needles("logits", logits.reshape(-1, CLASSES)),
        **needles("histogram", divided * VOTE),
    }
    written = {path: path.read_bytes() for path in written_files(sites)}
    assert any(path.name == "ledger.db" for path in written)
    assert any(path.suffix == ".log" for path in written)
    found = [
        (name, path.name) for name, row in secrets.items() for path, data in written.items() if row in data
    ]
    assert found == []


def needles(name: str, rows: NDArray[Any]) -> dict[str, bytes]:
    """Every row as the numbers that a program would write it as."""
    whole = np.issubdtype(rows.dtype, np.integer)
    dtypes = (np.uint32, np.uint64) if whole else (np.float32, np.float64)
    return {
        f"{name} {place} {dtype.__name__}": row.astype(dtype).tobytes()
        for dtype in dtypes
        for place, row in enumerate(rows)
    }


def written_files(sites: Sites) -> list[Path]:
    """All that the sites and their processes wrote, but for the querying party's own records."""
    own = {sites.folder / QUERY / f"{name}.npz" for name in ("labelled", "pool", "test")}
    found = [*sites.folder.rglob("*"), *sites.folder.with_name("logs").rglob("*")]
    return [path for path in found if path.is_file() and path not in own]
