"""From the invitation to a party that votes: real keys, requests, certificates and servers."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Event

import numpy as np
import pytest

from ostraka.common.clock import SystemClock
from ostraka.common.config import load_site, write_site
from ostraka.common.datasets import Dataset, from_arrays
from ostraka.common.identity import Credentials
from ostraka.common.task import infer_task, write_task
from ostraka.deploy.site.health import is_serving
from ostraka.deploy.site.keys import install
from ostraka.deploy.site.preflight import preflight
from ostraka.guardian.admin.client import admin_call
from ostraka.guardian.serving.server import running as running_guardian
from ostraka.protos.ostraka.v1 import admin_pb2
from ostraka.services.serving.server import running as running_party
from ostraka.services.teachers.config import TrainingConfig
from ostraka.services.teachers.training import train
from tests.addresses import free_ports
from tests.deploy.provisioning.kits import Sites, make_sites


def records() -> Dataset:
    draw, y = np.random.default_rng(0), np.arange(60) % 3
    return from_arrays(draw.normal(size=(60, 4)) + y[:, None], y)


@pytest.fixture
def sites(tmp_path: Path) -> Sites:
    """Return a guardian, a party with teachers, an administrator and a querying party, none serving yet."""
    guardian, a = free_ports(2)
    sites = make_sites(tmp_path, SystemClock(), guardian, a)
    sites.join("hub-guardian", "hub-admin", "a-party", "q-query")
    task = infer_task(records(), "columns")
    for name in ("a-party", "q-query"):
        write_task(task, sites[name] / "task.toml")
    config = TrainingConfig(teachers=2, model="logistic_regression")
    train(records(), task, config, seed=0).save(sites["a-party"] / "teachers")
    site = load_site(sites["q-query"])
    write_site(site.model_copy(update={"parties": {"a": site.parties["a"]}}))
    return sites


@pytest.fixture
def serving(sites: Sites) -> Iterator[ExitStack]:
    """Run the guardian and the party, both serving."""
    with running_guardian(sites["hub-guardian"], sleep=lambda _: None), ExitStack() as party:
        party.enter_context(running_party(sites["a-party"], stop=Event()))
        yield party


def known_parties(sites: Sites) -> list[str]:
    request = admin_pb2.ListPartiesRequest()
    found = admin_call(sites["hub-admin"], lambda stub: list(stub.ListParties(request)))
    return [party.site for party in found]


@pytest.mark.usefixtures("serving")
def test_every_kit_works(sites: Sites) -> None:
    for name in ("hub-guardian", "hub-admin", "a-party", "q-query"):
        found = preflight(sites[name])
        assert [finding for finding in found if finding.state == "failed"] == []
    assert is_serving(sites["hub-guardian"])
    assert is_serving(sites["a-party"])
    assert known_parties(sites) == ["a"]


def test_a_party_serves_with_its_new_keys_after_a_rotation(sites: Sites, serving: ExitStack) -> None:
    old = Credentials.of(load_site(sites["a-party"])).tls_cert
    sites.request_again("a-party")
    install(sites["a-party"], sites.sign("a-party", again=True), sites.clock)
    assert is_serving(sites["a-party"])
    serving.close()
    serving.enter_context(running_party(sites["a-party"], stop=Event()))
    assert is_serving(sites["a-party"])
    assert Credentials.of(load_site(sites["a-party"])).tls_cert != old
    found = preflight(sites["q-query"])
    assert [finding for finding in found if finding.state == "failed"] == []
