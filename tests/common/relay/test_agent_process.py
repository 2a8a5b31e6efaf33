"""The agent as a child process, with a relay that is a process too."""

import os
import signal
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from ostraka.common.clock import SystemClock
from ostraka.common.errors import ErrorCode
from ostraka.common.identity import Credentials
from ostraka.common.relay.agent_process import AgentProcess, attach_to_relays, watch_agent
from ostraka.common.rpc import make_server
from ostraka.deploy.simulation.processes import ChildCommand, Supervisor
from tests.common.federation import GUARDIAN, PARTY, QUERIER, Federation
from tests.relay.relaying import make_relay, make_site
from tests.relay.test_relay import ask
from tests.waiting import until


@pytest.mark.heavy
def test_an_agent_that_is_killed_comes_back_and_carries_both_ways(tmp_path: Path) -> None:
    federation = Federation(tmp_path / "federation")
    caller = federation.issue(QUERIER)
    clock = SystemClock()
    servers = [make_server(federation.issue(one), "127.0.0.1:0", [], {}, clock) for one in (PARTY, GUARDIAN)]
    for one in servers:
        one.server.start()
    party, guardian = (one.address for one in servers)
    folder = make_relay(federation, table=f'reach = {{ guardian = "{guardian}" }}\n')
    with Supervisor(tmp_path / "logs") as processes:
        ready = tmp_path / "ready.json"
        command = ["relay", "serve", "--site", str(folder), "--ready-file", str(ready)]
        address = processes.wait_ready(processes.start(ChildCommand("relay", command)), ready, 60)
        site = make_site(federation, PARTY, address, "guardian = true\n")
        registry = CollectorRegistry()
        with attach_to_relays(site, serves=True) as (called, agent):
            assert agent is not None
            watch_agent(registry, agent)
            agent.serve(party)
            wait_attached(agent, registry, address)
            assert "." in ask(caller, address)
            # The guardian's address in site.toml is one that nobody answers at.
            assert called.guardian != site.guardian
            assert "." in ask(Credentials.of(site), called.guardian, GUARDIAN)
            first = agent.pid
            os.kill(first, signal.SIGKILL)
            until(lambda: agent.pid != first)
            wait_attached(agent, registry, address)
            assert "." in ask(caller, address)
            assert "." in ask(Credentials.of(site), called.guardian, GUARDIAN)
        assert ask(caller, address) == ErrorCode.PARTY_DETACHED
    for one in servers:
        one.server.stop(None).wait()


def wait_attached(agent: AgentProcess, registry: CollectorRegistry, address: str) -> None:
    until(lambda: any(agent.attached.values()))
    assert registry.get_sample_value("ostraka_relay_attached", {"address": address}) == 1
