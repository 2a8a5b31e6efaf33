"""Federations for trials on this machine, at ports that are free."""

import socket
from importlib import import_module
from pathlib import Path

import pytest

import ostraka
from ostraka.common.config import load_site
from ostraka.deploy.provisioning.provision import PORTS, TRIES, free_base_port

provisioning = import_module("ostraka.deploy.provisioning.provision")
"""The module; the package has a function of that name."""


def test_every_server_has_a_port_of_its_own_that_others_know(tmp_path: Path) -> None:
    made = ostraka.provision_local("demo", ["a", "b"], "q", tmp_path / "fed")
    home = load_site(made.guardian).listen
    first = int(home.rpartition(":")[2])
    assert first in PORTS
    assert load_site(made.query).parties == {"a": f"127.0.0.1:{first + 1}", "b": f"127.0.0.1:{first + 2}"}
    assert load_site(made.admin).guardian == home


def test_no_port_is_chosen_that_somebody_listens_at(monkeypatch: pytest.MonkeyPatch) -> None:
    base = free_base_port(2)
    monkeypatch.setattr(provisioning, "PORTS", range(base, base + 3))
    assert free_base_port(2) == base
    with socket.create_server(("127.0.0.1", base + 1)), pytest.raises(ostraka.OstrakaError) as refused:
        free_base_port(2)
    assert refused.value.code is ostraka.ErrorCode.SERVER_PORT_IN_USE


def test_ports_are_looked_for_so_often_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []

    def are_free(ports: range) -> bool:
        looked.append(ports.start)
        return len(looked) == free_at

    monkeypatch.setattr(provisioning, "_are_free", are_free)
    free_at = TRIES
    assert free_base_port(2) == looked[-1]
    looked.clear()
    free_at = TRIES + 1
    with pytest.raises(ostraka.OstrakaError) as refused:
        free_base_port(2)
    assert (refused.value.code, len(looked)) == (ostraka.ErrorCode.SERVER_PORT_IN_USE, TRIES)
