"""The recipe of docs/relay.md for those who have no relay: HAProxy and `ssh -R`."""

import re
from pathlib import Path

from ostraka.common.config import load_site, write_site
from ostraka.common.identity import Identity, Role
from ostraka.deploy.simulation.federation import NAME, QUERY
from tests.addresses import free_ports
from tests.e2e.relayed import require_true_labels, run
from tests.e2e.sites import SETTINGS, Sites
from tests.e2e.test_guardian_killed import require_charged_once
from tests.relay.programs import Sshd, haproxy, workplace

PAGE = Path(__file__).parents[2] / "docs" / "relay.md"
FIRST = SETTINGS.sites[0]


def sections(outside: int, ssh: int, party: int) -> str:
    """Return the page's configuration of HAProxy for other ports, and for the first party."""
    (shown,) = re.findall(r"```haproxy\n(.*?)```", PAGE.read_text(), re.S)
    name = Identity(NAME, FIRST, Role.PARTY).server_name
    changes = {
        "bind :443": f"bind 127.0.0.1:{outside}",
        "127.0.0.1:22\n": f"127.0.0.1:{ssh}\n",
        "127.0.0.1:17801\n": f"127.0.0.1:{party}\n",
        "party.alpha.FEDERATION.ostraka.internal": name,
    }
    for old, new in changes.items():
        assert old in shown
        shown = shown.replace(old, new)
    return str(shown)


def test_a_party_answers_by_a_port_that_ssh_forwards(sites: Sites) -> None:
    sites.start()
    query = load_site(sites.folder / QUERY)
    outside, inside = free_ports(2)
    with workplace() as folder:
        sshd = Sshd(folder, forwarded=inside)
        with (
            sshd.serve(),
            haproxy(sections(outside, sshd.port, inside), outside),
            sshd.forward(query.parties[FIRST], outside),
        ):
            parties = {**query.parties, FIRST: f"127.0.0.1:{outside}"}
            write_site(query.model_copy(update={"parties": parties}))
            result = run(sites)
    assert (result.answered, dict(result.left_out)) == (SETTINGS.records.queries, {})
    require_true_labels(sites)
    require_charged_once(sites)
