"""Advice at a federation, before the first charge: own records dealt out, with the rest of its budgets."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ostraka.client.fitting.problems import KnownRecords
from ostraka.client.learners.problem import OwnRecords
from ostraka.client.peers.retry import Retry
from ostraka.client.run.asking_options import Names
from ostraka.client.run.site import connect_guardian, load_query_site, load_site_task, site_encoder
from ostraka.common.clock import Clock, SystemClock
from ostraka.common.config import SiteConfig
from ostraka.common.console.texts import number_text
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task import Source
from ostraka.deploy.advice.advise import Advice, Spending, Step, conclude, require_epsilon, try_on_splits
from ostraka.deploy.advice.attempts import Clock as Stopwatch
from ostraka.deploy.advice.commands import Files, site_commands
from ostraka.deploy.advice.federation import Asker, Offer
from ostraka.deploy.advice.growth import grow
from ostraka.deploy.advice.options import AdviceOptions
from ostraka.deploy.advice.recommendation import NAMES
from ostraka.deploy.advice.records import AdviceRecords, require_records
from ostraka.deploy.advice.splits import MAX_POOL, TEST_SHARE, Amounts, Split, count_splits

OWN_SHARE = 0.25
"""Fraction of own records that serve as own ones in splits; the rest except test records represents the
sites.
"""


@dataclass(frozen=True)
class QueryAdvice:
    """Advice at a federation.

    Attributes:
        advice: the estimated value of each way, and a recommendation.
        offer: of the federation.
    """

    advice: Advice
    offer: Offer

    def as_json(self) -> dict[str, Any]:
        """Return it in JSON's types."""
        offer = self.offer
        return {
            **self.advice.as_json(),
            "federation": {
                "parties": [party.__dict__ for party in offer.parties],
                "epsilon": offer.epsilon,
                "told": offer.told,
                "no_votes": offer.no_votes,
                "no_sums": offer.no_sums,
            },
        }


def advise_query(
    site_folder: Path,
    labelled: Source,
    pool: Source | None = None,
    *,
    epsilon: float | None = None,
    parties: Names | None = None,
    task_file: Path | None = None,
    seed: int = 0,
    on_step: Step = lambda done, total: None,
    retry: Retry | None = None,
    clock: Clock | None = None,
) -> QueryAdvice:
    """Estimate what the parties' records would add to own records, for the rest of the budgets.

    The guardian is asked what plans would cost. No party is asked, nothing is opened or charged, and only the
    number of private records is known.

    Args:
        site_folder: of the querying party.
        labelled: its own labelled records, which also represent the parties'.
        pool: its unlabelled records; None: as many as `MAX_POOL`.
        epsilon: upper bound on the spending; None: all that is left.
        parties: the parties that would answer; None: all.
        task_file: the task; by default task.toml of the site.
        seed: of all random draws.
        on_step: called with the number of finished steps and of all steps.
        retry: of calls to the guardian.
        clock: of its connection.

    Raises:
        OstrakaError: `data.too_few` for too few own records, `budget.too_small` if less than `MIN_EPSILON` is
            left or may be spent, `server.unreachable`, and errors of `fit` for invalid records.
    """
    stopwatch = Stopwatch()
    if epsilon is not None:
        require_epsilon(epsilon)
    site = load_query_site(site_folder)
    known = _read(site, site_folder, task_file, labelled, pool)
    own = _require_own(known, labelled)
    clock = clock or SystemClock()
    retry = retry or Retry()
    queries = MAX_POOL if known.pool is None else len(known.pool)
    asker = Asker(site, known, queries, parties, site_encoder(site, None, known.task), clock, retry)
    with connect_guardian(site, clock, retry) as guardian:
        offer = asker.ask(guardian, epsilon)
    require_epsilon(offer.epsilon)
    whole = AdviceRecords(known.task, own.X, own.y, len(own), known.reading, encoded=known.encoded)
    table = whole.sample(seed)
    advice = _advise_on(table, offer, queries, seed, on_step)
    files = Files(str(site_folder), "POOL" if pool is None else str(pool), str(labelled))
    commands = [site_commands(one, offer.epsilon, files) for one in advice.recommended]
    found = replace(advice.recommendation, commands=sum(commands, ()))
    return QueryAdvice(replace(advice, recommendation=found, seconds=stopwatch.seconds()), offer)


def _read(
    site: SiteConfig, folder: Path, task_file: Path | None, labelled: Source, pool: Source | None
) -> KnownRecords:
    task = load_site_task(folder, task_file)
    return KnownRecords.read(task, site_encoder(site, None, task), pool, labelled)


def _require_own(known: KnownRecords, labelled: Source) -> OwnRecords:
    """Return own records; raise unless they are enough, and of more than one class."""
    own = known.own
    assert own is not None  # noqa: S101 - they were given
    what = str(labelled) if isinstance(labelled, Path | str) else "The table"
    require_records(len(own), what)
    if (own.y == own.y[0]).all():
        raise OstrakaError(
            ErrorCode.DATA_LABEL_RANGE,
            f"All records of {what} have the same label: of one class nothing can be learned; label others.",
        )
    return own


def _advise_on(table: AdviceRecords, offer: Offer, queries: int, seed: int, on_step: Step) -> Advice:
    stopwatch = Stopwatch()
    amounts = _deal(len(table), offer, queries)
    count = count_splits(table)
    mu = offer.mu
    spending = Spending(
        mu=None if mu is None else lambda _: mu,
        choices=lambda _: [offer.allowances] if offer.allowances else [],
    )
    attempts = try_on_splits(_splits(table, amounts, offer, seed), count, (offer.epsilon,), spending, on_step)
    options = AdviceOptions(parties=len(offer.parties), epsilon=offer.epsilon, own=len(table), seed=seed)
    return conclude(table, options, amounts, grow(attempts, amounts, len(table)), stopwatch)


def _deal(records: int, offer: Offer, queries: int) -> Amounts:
    """Return how many own records play each role; the pool is the test records, without their labels."""
    test = round(TEST_SHARE * records)
    own = round(OWN_SHARE * records)
    left = records - test - own
    return Amounts(own, test, test, offer.records, min(left, offer.records), queries)


def _splits(table: AdviceRecords, amounts: Amounts, offer: Offer, seed: int) -> Iterator[Split]:
    """Yield splits in which every site's part is as large as it declares."""
    shares = np.cumsum([party.records for party in offer.parties]) / offer.records
    teachers = tuple(party.teachers for party in offer.parties) if offer.allowances else (0,)
    for number in range(count_splits(table)):
        random = np.random.default_rng([seed, number])
        ends = np.cumsum([amounts.test, amounts.own, amounts.shown])
        test, own, private, _ = np.split(random.permutation(len(table)), ends)
        sites = tuple(np.split(private, np.round(shares[:-1] * len(private)).astype(int)))
        yield Split(table, amounts, own, test, sites, test, number, teachers)


def tell_federation(found: QueryAdvice) -> Iterator[str]:
    """Yield sentences on who has which records, and how ways were tried."""
    offer = found.offer
    amounts = found.advice.amounts
    whole = min(party.left for party in offer.parties)
    source = f"{'is left of' if offer.told else 'was in'} the smallest budget"
    if offer.epsilon < whole:
        source = f"is what you allow, of {number_text(round(whole, 3))} that {source}"
    yield (
        f"{len(offer.parties)} parties declare {offer.records:,} labelled records and {offer.teachers:,} "
        f"teachers; epsilon {number_text(round(offer.epsilon, 3))} {source}. "
        f"You have {found.advice.rows:,} labelled records, and {amounts.queries:,} to label."
    )
    yield (
        f"Your labelled records were dealt out {found.advice.splits} times: {amounts.test:,} to measure on, "
        f"{amounts.own:,} as yours, {amounts.shown:,} as the parties', each of which counts "
        f"{amounts.weight:.3g} times. What more records add is read off how a linear model grows with them; "
        "parties whose records are unlike yours are worth something else. "
        f"Ways are compared by {NAMES[found.advice.judged_by]}."
    )
    for words, why in (("votes", offer.no_votes), ("sums", offer.no_sums)):
        if why:
            yield f"No {words} are had here: {why}"
    yield "Only the guardian was asked, and nothing was charged."
