"""A fit of many rounds in which everybody is killed: each entry has one answer, and its charge."""

from collections import Counter

import pytest
from sqlalchemy import select

from ostraka.client.fitting.fit_options import FitOptions
from ostraka.client.fitting.fit_state import load_fit
from ostraka.client.fitting.fitting import FittingRun, fit
from ostraka.client.sums.sum_store import SumsState, SumStore
from ostraka.common.config import SITE_FILE, load_site
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.privacy import AMOUNT_UNIT
from ostraka.deploy.simulation.federation import GUARDIAN, QUERY
from ostraka.deploy.simulation.processes import ChildCommand
from ostraka.guardian.admin.verification import verify_ledger
from ostraka.guardian.ledger import LedgerReader
from ostraka.guardian.ledger.reader import View
from ostraka.guardian.ledger.site import ledger_location
from ostraka.guardian.ledger.store.schema import batches
from ostraka.guardian.ledger.units import balances
from ostraka.protos.ostraka.v1 import guardian_pb2
from tests.e2e.sites import SOON, Sites
from tests.e2e.test_sums import start_with_sums
from tests.waiting import until

ROUNDS = 50
EPSILON = 1000.0
ENDS_S = 240
COMMANDS = 60
"""Of one fit, at most: each goes on where the one before ended. For 15 s after a guardian was killed, while
sessions in PostgreSQL are still its own, they end at once."""
FITTER = "fitter"


def fitting(sites: Sites) -> None:
    """Start a process that fits, or goes on with the fit."""
    site = sites.folder / QUERY
    own = ("--pool", site / "pool.npz", "--labelled", site / "labelled.npz", "--out", sites.run)
    words = ("query", "fit", "--site", site, *own, "--learner", "gradients", "--epsilon", EPSILON)
    sites.children[FITTER] = sites.processes.start(ChildCommand(FITTER, [str(word) for word in words]))


def ended(sites: Sites) -> bool:
    return sites.children[FITTER].process.poll() is not None


def state_of(sites: Sites) -> SumsState | None:
    store = SumStore.load(sites.run)
    return None if store is None else store.state


def wait_within_round(sites: Sites, after: int) -> None:
    """Return when a round is under way after so many sums, in a process that fits.

    A guardian that is away for too long ends the command, and the same one goes on.
    """

    def is_under_way() -> bool:
        state = state_of(sites)
        return state is not None and len(state.kept) >= after and state.open is not None

    for _ in range(COMMANDS):
        if ended(sites):
            fitting(sites)
        until(lambda: is_under_way() or ended(sites), ENDS_S)
        if not ended(sites):
            return
    pytest.fail(sites.children[FITTER].log.read_text())


def wait_done(sites: Sites) -> None:
    """Return when the model is made."""
    for _ in range(COMMANDS):
        until(lambda: ended(sites), ENDS_S)
        made = load_fit(sites.run)
        if made is not None and made.is_done:
            return
        fitting(sites)
    pytest.fail(sites.children[FITTER].log.read_text())


def kept_sums(sites: Sites) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sites.run.glob("sum-*.i8")}


def released(view: View) -> dict[int, bytes]:
    rows = view.connection.execute(select(batches).where(batches.c.state == "released"))
    return {row.batch_id: guardian_pb2.ReleaseReply.FromString(row.answers).update.data for row in rows}


def put_ledger(sites: Sites, url: str) -> None:
    """Have the guardian keep its ledger in a database."""
    (sites.folder / GUARDIAN / "database.url").write_text(url)
    with (sites.folder / GUARDIAN / SITE_FILE).open("a") as config:
        config.write('\n[ledger]\nurl_file = "database.url"\n')


def require_one_answer_an_entry(sites: Sites) -> None:
    """Check that the run has what the ledger has, and that every unit paid for just the sums it is in."""
    store = SumStore.load(sites.run)
    assert store is not None
    state = store.state
    assert len({kept.batch for kept in state.kept}) == len(state.kept) == ROUNDS
    where = ledger_location(sites.folder / GUARDIAN)
    with LedgerReader.open_read_only(where) as ledger:
        answers = ledger.read(released)
        assert {f"sum-{batch}.i8": data for batch, data in answers.items()} == kept_sums(sites)
        sums = Counter(party for kept in state.kept for party in kept.parties)
        for budget in ledger.read(balances.all_budgets):
            worst = store.plan.mechanism.worst_case(budget.order, classes=store.plan.classes)
            expected = sums[budget.key.party] * worst.reservation(1, store.plan.mechanism.answers(10))
            assert (budget.spent, budget.reserved) == (expected, 0)
            assert expected * AMOUNT_UNIT > 0
    assert verify_ledger(where, sites.folder / GUARDIAN / "ca.crt", [])


@pytest.mark.heavy
@pytest.mark.processes
@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_everybody_is_killed_in_the_middle_of_a_fit(
    sites: Sites, backend: str, request: pytest.FixtureRequest
) -> None:
    if backend == "postgresql":
        put_ledger(sites, request.getfixturevalue("postgres_url"))
    start_with_sums(sites)
    guardian, party = sites.guardian_address, load_site(sites.folder / QUERY).parties["party-3"]
    before: dict[str, bytes] = {}
    fitting(sites)
    for after, victim in ((3, FITTER), (9, GUARDIAN), (15, "party-3"), (21, FITTER), (27, GUARDIAN)):
        wait_within_round(sites, after)
        before |= kept_sums(sites)
        sites.kill(victim)
        if victim == GUARDIAN:
            sites.restart(GUARDIAN, "guardian", guardian)
        elif victim == "party-3":
            sites.restart("party-3", "party", party)
    wait_done(sites)
    assert before.items() <= kept_sums(sites).items()
    require_one_answer_an_entry(sites)


@pytest.mark.heavy
@pytest.mark.processes
def test_a_quorum_that_is_lost_between_rounds_costs_nothing(sites: Sites) -> None:
    start_with_sums(sites)
    site = sites.folder / QUERY
    options = FitOptions(learner="gradients", epsilon=EPSILON, quorum=3)
    address = load_site(site).parties["party-2"]

    def lose(done: int, total: int) -> None:
        if done == 4:
            sites.kill("party-2")

    own = (site / "pool.npz", site / "labelled.npz")
    with pytest.raises(OstrakaError) as lost:
        fit(site, *own, options, sites.run, run=FittingRun(on_progress=lose, retry=SOON))
    assert lost.value.code is ErrorCode.QUORUM_LOST
    before = kept_sums(sites)
    assert len(before) == 4
    sites.restart("party-2", "party", address)
    assert fit(site, *own, options, sites.run, run=FittingRun(retry=SOON)).state.is_done
    assert before.items() <= kept_sums(sites).items()
    require_one_answer_an_entry(sites)
