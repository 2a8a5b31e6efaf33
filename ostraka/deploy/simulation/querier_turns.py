"""Several parties that ask in turn, each all the others (Dziedzic et al. 2023, section 5.3)."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from ostraka.client.retraining import retrain
from ostraka.common.clock import SystemClock
from ostraka.common.config import load_site, write_site
from ostraka.common.datasets import save
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import CertificateAuthority, Identity, Role
from ostraka.common.task import write_task
from ostraka.deploy.provisioning.provision import CA_FOLDER
from ostraka.deploy.simulation.active_learning import ask_in_rounds
from ostraka.deploy.simulation.federation import QUERY
from ostraka.deploy.simulation.plan import plan_options
from ostraka.deploy.simulation.querying_party import (
    QueryOutcome,
    SimulationContext,
    first_student,
    label_pool,
    outcome_of,
    released_labels,
    require_answers,
    retrain_on,
)


def run_queriers(context: SimulationContext) -> tuple[QueryOutcome, ...]:
    """Return what the weakest parties learned from all others, the weakest first.

    A party whose turn comes when the others' budgets are used up learns nothing new. Raises why the first
    could ask no query, and what labelling and retraining raise.
    """
    sites = {party: _querying_site(context, party, row) for row, party in enumerate(context.settings.sites)}
    with context.watch.step("find the weakest parties"):
        weakest = sorted(sites, key=lambda party: _balanced_accuracy(sites[party], context.settings.seed))
    turns = weakest[: context.settings.queriers]
    return tuple(_ask(context, sites[party], party, turn) for turn, party in enumerate(turns))


def _querying_site(context: SimulationContext, party: str, row: int) -> Path:
    """Make a querying site next to a party's own, with its own certificate and the party's records."""
    beside = context.federation.site(QUERY)
    folder = beside.with_name(f"{party}-query")
    folder.mkdir(mode=0o700)
    config = load_site(beside).model_copy(update={"site": party, "folder": folder})
    authority = CertificateAuthority.load(beside.with_name(CA_FOLDER))
    authority.issue(Identity(config.federation, party, Role.QUERY), folder, SystemClock())
    write_site(config)
    write_task(context.task, folder / "task.toml")
    save(replace(context.split.shards[row], consent=None), folder / "labelled.npz")
    save(context.split.test, folder / "test.npz")
    return folder


def _balanced_accuracy(site: Path, seed: int) -> float:
    """How well a party does by itself, by cross-validation; 0 where it has too few records, or classes."""
    try:
        alone = retrain(site, site / "labelled.npz", out=site / "alone.skops", seed=seed).before
    except OstrakaError as error:
        if error.code is not ErrorCode.DATA_TOO_FEW:
            raise
        return 0.0
    return 0.0 if alone is None else alone.balanced_accuracy


def _ask(context: SimulationContext, site: Path, party: str, turn: int) -> QueryOutcome:
    rows = np.arange(context.settings.queries) + turn * context.settings.queries
    pool = site / "pool.npz"
    save(context.split.pool.take(rows), pool)
    others = tuple(name for name in context.settings.sites if name != party)
    options = plan_options(context.settings).model_copy(update={"parties": others})
    if context.settings.label_rounds > 1:
        outcome, _ = ask_in_rounds(context, site, context.split.truth[rows], options)
        return outcome
    labelling = label_pool(context, site, pool, options, first_student(context, site))
    if turn == 0:
        require_answers(labelling)
    students = retrain_on(context, site, pool, labelling)
    released = released_labels(labelling.run, labelling.queries, context.task)
    return outcome_of(party, labelling, students, released, context.split.truth[rows])
