"""Every client of a federation's members, connected to a guardian and parties that lie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ostraka.common.identity import Credentials
from ostraka.guardian.ledger.store.cipher import KEY_FILE
from tests.fuzz.administrator_clients import AdministratorClients, SiteClients
from tests.fuzz.client_campaign import ClientCampaign
from tests.fuzz.clients import QuerierClients, Waits, impatient
from tests.fuzz.console_clients import ConsoleClients
from tests.fuzz.forging import Forger
from tests.fuzz.liar import Liar
from tests.fuzz.party_clients import PartyClients
from tests.fuzz.recording import Recorder


@dataclass(frozen=True)
class Deceived:
    """The members whose clients are lied to.

    Attributes:
        members: credentials by name.
        guardian: the member whose keys the lying guardian has; `party` likewise, and its own link to the
            guardian is a client, too. `learner` is a party whose teachers learn together with others'.
        sites: folders of an administrator, of a querying site, and of the guardian, whose ledger's key the
            administrator also has; or none, which leaves out commands at a terminal.
    """

    members: Mapping[str, Credentials]
    guardian: str
    party: str
    learner: str
    sites: Mapping[str, Path]


@contextmanager
def deceived(
    who: Deceived, recorder: Recorder, forger: Forger, seed: int, folder: Path
) -> Iterator[ClientCampaign]:
    """Lie to every recorded client within the block."""
    folder.mkdir()
    liars = {name: Liar() for name in ("guardian", "party", "learner")}
    keys = {name: who.members[getattr(who, name)] for name in liars}
    waits = Waits()
    with (
        impatient(),
        liars["guardian"].serving(keys["guardian"]) as guardian,
        liars["party"].serving(keys["party"]) as party,
        liars["learner"].serving(keys["learner"]) as learner,
    ):
        at_guardian, at_party = (guardian, keys["guardian"].identity), (party, keys["party"].identity)
        at_learner = learner, keys["learner"].identity
        querier = QuerierClients(recorder, who.members, at_guardian, at_party, at_learner, waits)
        with ExitStack() as stack:
            linked = stack.enter_context(
                closing(PartyClients(recorder, keys["party"], at_guardian, waits, folder))
            )
            clients = [*querier.clients(), *linked.clients()]
            if who.sites:
                admin, query, key = who.sites["admin"], who.sites["query"], who.sites["guardian"] / KEY_FILE
                commands = AdministratorClients(recorder, admin, guardian, key, folder)
                clients += commands.clients()
                clients += stack.enter_context(ConsoleClients(commands, key)).clients()
                site = keys["party"].identity.site, party
                clients += SiteClients(recorder, query, guardian, site, folder).clients()
            campaign = ClientCampaign(seed, clients, liars, forger, waits)
            campaign.rehearse()
            yield campaign
