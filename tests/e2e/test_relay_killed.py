"""A relay, an agent or a party killed while `Vote`, `Garble` or `Train` is under way by the relay."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ostraka.client.training.cli import LeadOptions
from ostraka.client.training.leading import lead
from ostraka.common.config import load_site
from ostraka.common.errors import ErrorCode
from ostraka.deploy.simulation.federation import GUARDIAN
from ostraka.deploy.simulation.processes import Start, Supervisor
from ostraka.deploy.simulation.settings import Settings
from ostraka.deploy.simulation.split import Split
from ostraka.guardian.admin.confidential import totals
from tests.e2e.confidential import HEADS, ask, encrypted_logits
from tests.e2e.holding import Held, start_holding, while_held
from tests.e2e.relayed import (
    LONG,
    RelayProcess,
    attach,
    call_by_relay,
    kill_agent,
    require_true_labels,
    run,
    serve_by_relay,
)
from tests.e2e.sites import SETTINGS, SOON, place
from tests.e2e.test_confidential import leads, votes_of
from tests.e2e.test_confidential_killed import AGREED, require_charged
from tests.e2e.test_guardian_killed import require_charged_once
from tests.e2e.test_parties_down import require_right_sums
from tests.e2e.test_training import LEADER, LOST, TOGETHER, Training

FIRST, *OTHERS = SETTINGS.sites
ROUNDS = 4


@pytest.fixture
def holding(tmp_path: Path, start: Start) -> Iterator[Callable[[Held], Supervisor]]:
    """Return a function that returns where processes are started that hold a call."""
    made: list[Supervisor] = []

    def make(held: Held) -> Supervisor:
        environment = {"OMP_NUM_THREADS": "1", **held.environment}
        made.append(Supervisor(tmp_path / "logs", environment, start=start_holding(start)))
        return made[-1]

    yield make
    for processes in made:
        processes.stop()


def test_a_relay_and_then_an_agent_killed_in_a_vote_change_no_label(
    tmp_path: Path, trained: Path, split: Split, holding: Callable[[Held], Supervisor]
) -> None:
    """Both times the party has voted, and the guardian has its ballots: what is lost is its reply."""
    held = Held(str(tmp_path), FIRST, "Vote", times=2)
    sites = place(tmp_path / "sites", SETTINGS, trained, split, holding(held))
    relay = serve_by_relay(sites)
    with while_held(held, relay.restart, lambda: kill_agent(sites.children[FIRST])):
        result = run(sites)
    assert (result.answered, dict(result.left_out)) == (SETTINGS.records.queries, {})
    require_true_labels(sites)
    require_charged_once(sites)


def test_a_party_killed_in_a_vote_is_left_out_and_charged_for_nothing(
    tmp_path: Path, trained: Path, split: Split, holding: Callable[[Held], Supervisor]
) -> None:
    held = Held(str(tmp_path), FIRST, "Vote", times=1)
    sites = place(tmp_path / "sites", SETTINGS, trained, split, holding(held))
    serve_by_relay(sites)
    with while_held(held, lambda: sites.kill(FIRST)):
        result = run(sites, quorum=2, retry=SOON)
    assert result.asked == SETTINGS.records.queries
    # Its agent ends a moment later, and may still be there when the caller asks why.
    assert result.left_out[FIRST].code in (ErrorCode.PARTY_DETACHED, ErrorCode.SERVER_UNREACHABLE)
    assert {batch.parties for batch in sites.state.batches} == {tuple(OTHERS)}
    require_right_sums(sites)
    require_charged_once(sites, OTHERS)


def test_a_relay_and_then_an_agent_killed_while_a_party_garbles_change_no_label(
    tmp_path: Path, heads: Path, split: Split, holding: Callable[[Held], Supervisor]
) -> None:
    """Queries are encrypted, and the guardian tallies blind; the tables have begun to come both times."""
    held = Held(str(tmp_path), FIRST, "Garble", times=2, replies=1)
    sites = place(tmp_path / "sites", HEADS, heads, split, holding(held))
    relay = serve_by_relay(sites)
    with while_held(held, relay.restart, lambda: kill_agent(sites.children[FIRST])):
        session = ask(sites, AGREED, "run", quorum=3, encoding="ckks", tally="blind", retry=LONG)
    assert dict(session.result.left_out) == {}
    assert [(batch.status, batch.parties) for batch in session.batches] == [("released", HEADS.sites)] * 2
    logits = encrypted_logits(sites)
    histogram = votes_of(logits)
    led = leads(histogram, logits) & (session.labels >= 0)
    assert led.any()
    assert (session.labels[led] == histogram.argmax(axis=1)[led]).all()
    require_charged(sites, HEADS.sites, checks=HEADS.records.queries, answers=session.result.answered)


def test_a_relay_and_then_an_agent_killed_while_a_party_trains_lose_no_round(
    tmp_path: Path, holding: Callable[[Held], Supervisor]
) -> None:
    held = Held(str(tmp_path), LOST, "Train", times=2)
    settings = Settings.model_validate({**TOGETHER, "rounds": ROUNDS})
    training = Training(tmp_path / "sites", holding(held), settings)
    training.federation.serve_guardian()
    relay = RelayProcess(training.folder, training.processes, load_site(training.folder / LEADER))
    for site in settings.sites:
        attach(training.folder / site, relay)
    parties = training.federation.start_training()
    training.federation.set_budgets()
    leader = training.folder / LEADER
    call_by_relay(leader, relay)
    attach(leader, relay)
    options = LeadOptions(training="dp-ttac", rounds=ROUNDS, sigma=2.0, quorum=3).chosen()
    with while_held(held, relay.restart, lambda: kill_agent(parties[LOST])):
        report = lead(leader, options, retry=LONG)
    training.processes.wait_ended(list(parties.values()))
    assert (report.taking_part, report.left_out, report.stopped) == ((3,) * (ROUNDS - 1), {}, None)
    for unit in totals(training.folder / GUARDIAN):
        assert len(unit["history"]) == ROUNDS - 1, "each round was charged once"
