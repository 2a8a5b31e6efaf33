"""Results of each way on the part of a case that the advice sees, and on the rest: measured once, and
cached."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter
from threadpoolctl import threadpool_limits

from benchmarks.advice.cases import Case
from benchmarks.advice.tables import HELD, QUANTITIES, TUNING
from benchmarks.caching import digest
from ostraka.common.files.durable import write_atomic
from ostraka.deploy.advice.advise import try_ways
from ostraka.deploy.advice.attempts import Attempt, Clock
from ostraka.deploy.advice.measures import Figure, judge_by
from ostraka.deploy.advice.models import try_without_noise
from ostraka.deploy.advice.options import AdviceOptions
from ostraka.deploy.advice.records import AdviceRecords
from ostraka.deploy.advice.splits import Amounts, Split, share_out
from ostraka.deploy.advice.sums import mu_of, try_sums
from ostraka.deploy.advice.votes import VotePlans, try_votes

SEEN = 0.4  # fraction of a case's records that the advice sees, but at least 60
MIN_SEEN = 60
SEED = 2026  # seed of the first case
TEST = 0.3  # fraction of the unseen records
MAX_TEST = 5_000
TESTED = 10_000  # test records of all draws together, so chance rarely makes a way the best
MIN_DRAWS = 3  # minimum number of draws of unseen records, each with its own noise
MAX_DRAWS = 20
ALL_TEACHERS = 2_000  # most teachers trained to measure outcomes: none represents others
VERSION = 1  # of what is measured: increase it when ways change


@dataclass(frozen=True)
class Cell:
    """A measured case.

    Attributes:
        judged: the figure by which ways are compared.
        amounts: numbers of records, as given to the advice.
        seen: every attempt of the advice, on the records that it sees.
        happened: every attempt on each draw of the other records.
        seconds: processor time of the advice.
    """

    judged: Figure
    amounts: Amounts
    seen: list[Attempt]
    happened: list[list[Attempt]]
    seconds: float


_CELL = TypeAdapter(Cell)


def load_or_measure(case: Case, cache: Path) -> Cell:
    """Return a case's cell, cached if possible; raise FileNotFoundError for a missing table."""
    file = cache / f"{case.table.replace(' ', '-')}-{case.size}-{digest(asdict(case), VERSION)}.json"
    if not file.exists():
        cell = measure(case)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(file, _CELL.dump_json(cell).decode())
    return _CELL.validate_json(file.read_bytes())


def read_records(case: Case) -> AdviceRecords:
    """Return the records of a case's whole table; raise FileNotFoundError if it is missing."""
    table, labels = (TUNING | HELD)[case.table]()
    return AdviceRecords.read(table, labels, target="number" if case.table in QUANTITIES else None)


def measure(case: Case) -> Cell:
    """Try every way on both parts of a case's records."""
    whole = read_records(case)
    random = np.random.default_rng([SEED, case.size, case.parties])
    rows = random.permutation(len(whole))[: case.size]
    seen, unseen = np.split(rows, [max(MIN_SEEN, round(SEEN * len(rows)))])
    hidden_amounts = _amounts(len(seen), len(unseen), case)
    options = AdviceOptions(
        parties=case.parties,
        epsilon=case.epsilon,
        rows_per_party=hidden_amounts.private // case.parties,
        own=hidden_amounts.own,
        pool=hidden_amounts.pool,
        skew=case.skew,
    )
    shown = replace(whole, X=whole.X[seen], y=whole.y[seen], rows=len(seen)).sample(0)
    hidden = replace(whole, X=whole.X[unseen], y=whole.y[unseen], rows=len(unseen))
    clock = Clock()
    # As in `advise_on`.
    with threadpool_limits(1):
        attempts = try_ways(shown, options, lambda done, total: None)
        seconds = clock.seconds()
        happened = happen(hidden, options, hidden_amounts)
    return Cell(judge_by(shown.kind, shown.y), Amounts.of(shown, options), attempts, happened, seconds)


def _amounts(seen: int, unseen: int, case: Case) -> Amounts:
    """Return the numbers of unseen records; the advice is given the same numbers of own and pool records."""
    test = min(MAX_TEST, round(TEST * unseen))
    own = min(200, seen // 10)
    pool = min(2_000, seen // 5)
    private = (unseen - test - own - pool) // case.parties * case.parties
    return Amounts(own, pool, test, private, private)


def happen(hidden: AdviceRecords, options: AdviceOptions, amounts: Amounts) -> list[list[Attempt]]:
    """Return the results of each way on draws of unseen records."""
    found = []
    plans = VotePlans()
    for draw in range(int(np.clip(TESTED // amounts.test, MIN_DRAWS, MAX_DRAWS))):
        random = np.random.default_rng([SEED, draw])
        ends = np.cumsum([amounts.test, amounts.own, amounts.pool, amounts.private])
        test, own, pool, private, _ = np.split(random.permutation(len(hidden)), ends)
        split = Split(
            hidden, amounts, own, pool, share_out(hidden, private, options, random), test, SEED + draw
        )
        votes = try_votes(split, (options.epsilon,), plans, ALL_TEACHERS)
        sums = try_sums(split, options.epsilon, mu_of(options.epsilon))
        found.append([*try_without_noise(split), *sums, *votes])
    return found
