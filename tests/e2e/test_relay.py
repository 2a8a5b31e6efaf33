"""Labelling where hospitals only call out, by ways of their own, and a relay is between all."""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from ostraka.client.run.labelling import LabelResult
from ostraka.common.mechanism import GnMax
from ostraka.deploy.simulation.processes import Start, Supervisor
from ostraka.deploy.simulation.split import Split
from tests.e2e.confidential import HEADS, ask, encrypted_logits
from tests.e2e.relayed import LONG, require_true_labels, run, serve_by_relay
from tests.e2e.sites import QUIET, SETTINGS, Sites, place
from tests.e2e.test_confidential import leads, votes_of
from tests.e2e.test_guardian_killed import require_charged_once
from tests.relay.programs import balance, squid
from tests.relay.relaying import Proxy, found_corporation, proxying


def end(sites: Sites) -> None:
    """Let servers drain while there is still a way."""
    for child in sites.children.values():
        sites.processes.end(child)


def test_a_relay_killed_in_a_run_through_an_inspecting_proxy_changes_no_label(
    sites: Sites, tmp_path: Path
) -> None:
    corporation = found_corporation(tmp_path / "corporation")
    proxy = Proxy(user="ward:s3cret", inspects=corporation)
    killed: list[int] = []

    def kill(result: LabelResult) -> None:
        if not killed:
            killed.append(result.asked)
            relay.restart()

    with proxying(proxy) as way:
        known = f'proxy = "http://ward:s3cret@{way}"\nca = "{corporation.root}"\n'

        def tables(relay: str) -> Mapping[str, str]:
            return dict.fromkeys(SETTINGS.sites, f'address = "{relay}"\n{known}')

        relay = serve_by_relay(sites, tables)
        result = run(sites, kill)
        end(sites)
    assert killed
    assert (result.answered, dict(result.left_out)) == (SETTINGS.records.queries, {})
    require_true_labels(sites)
    require_charged_once(sites)
    # All went through the proxy, and nothing of it was readable there but the relay's own words.
    assert set(proxy.connected) == {relay.address}
    assert b"/ostraka.v1.Party/Vote" not in proxy.seen
    assert b'"kind":"challenge"' in proxy.seen


def test_sites_answer_through_squid_both_ways_and_through_haproxy(sites: Sites, tmp_path: Path) -> None:
    """One hospital has each: a proxy with a password, one that inspects, and a balancer before the relay."""
    corporation = found_corporation(tmp_path / "corporation")
    known = f'ca = "{corporation.root}"\n'
    with ExitStack() as programs:

        def tables(relay: str) -> Mapping[str, str]:
            # Not by its number: certificates that Squid makes are for names alone.
            named = f'address = "{relay.replace("127.0.0.1", "localhost")}"\n'
            connecting = programs.enter_context(squid(relay, user="ward:p@ss"))
            inspecting = programs.enter_context(squid(relay, inspects=corporation))
            balancer = programs.enter_context(balance(relay, corporation))
            ways = (
                f'{named}proxy = "http://ward:p%40ss@{connecting}"\n',
                f'{named}proxy = "http://{inspecting}"\n{known}',
                f'address = "{balancer}"\n{known}',
            )
            return dict(zip(SETTINGS.sites, ways, strict=True))

        serve_by_relay(sites, tables)
        result = run(sites)
        end(sites)
    assert (result.answered, dict(result.left_out)) == (SETTINGS.records.queries, {})
    require_true_labels(sites)
    require_charged_once(sites)


@pytest.mark.parametrize("switch", [{"encoding": "ckks"}, {"tally": "blind"}], ids=["encrypted", "blind"])
def test_queries_are_encrypted_or_tallies_blind_by_a_relay(
    tmp_path: Path, heads: Path, split: Split, start: Start, switch: Mapping[str, str]
) -> None:
    """Both at once are in `test_relay_killed.py`."""
    with Supervisor(tmp_path / "logs", {"OMP_NUM_THREADS": "1"}, start=start) as processes:
        sites = place(tmp_path / "sites", HEADS, heads, split, processes)
        serve_by_relay(sites)
        session = ask(sites, GnMax(sigma=QUIET), "run", quorum=3, retry=LONG, **switch)
        end(sites)
    assert (session.result.answered, dict(session.result.left_out)) == (HEADS.records.queries, {})
    logits = encrypted_logits(sites)
    histogram = votes_of(logits)
    led = leads(histogram, logits)
    assert led.any()
    assert (session.labels[led] == histogram.argmax(axis=1)[led]).all()
    require_charged_once(sites)
