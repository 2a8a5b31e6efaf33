"""Clients that people run at a terminal: administrators' commands, a site's status, and its check."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

import typer

from ostraka.client.run.site_status import query_status
from ostraka.common.clock import SystemClock
from ostraka.common.config import load_site, write_site
from ostraka.common.identity import Credentials
from ostraka.deploy.site import peer_check
from ostraka.deploy.site.finding import Place
from ostraka.guardian.cli import app
from ostraka.protos.ostraka.v1 import admin_pb2
from tests.fuzz.clients import GUARDIAN, Client
from tests.fuzz.methods import answered_by
from tests.fuzz.recording import Recorder

ADMIN, ABOUT = "/ostraka.v1.Admin/", "/ostraka.v1.Site/About"
UNIT = ("--party", "spare", "--group", "some")
WHY = ("--reason", "a try")
RARELY = 0.02
"""How often such a client is chosen compared with others: it connects anew, and a command takes 20 ms."""
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "ListParties": ("party", "list"),
    "SetParty": ("party", "suspend", "spare", *WHY),
    "ListBudgets": ("budget", "show", "--wide"),
    "SetBudget": ("budget", "set", *UNIT, "--epsilon", "1", "--new"),
    "GrantBudget": ("budget", "grant", "--agreement", "{agreement}", *WHY),
    "FreezeBudget": ("budget", "freeze", *UNIT, *WHY),
    "BudgetHistory": ("budget", "history", *UNIT),
    "SetConsent": ("consent", "set", *UNIT, "--level", "low", "--new"),
    "WithdrawConsent": ("consent", "withdraw", *UNIT, *WHY),
    "ShowPolicy": ("policy", "show"),
    "ApplyPolicy": ("policy", "check", "{policy}"),
    "ListSessions": ("session", "list"),
    "ShowSession": ("session", "show", "s"),
    "CancelSession": ("session", "cancel", "s", *WHY),
    "Revoke": ("revoke", "{revocations}", *WHY),
    "Head": ("audit", "head", "{out}"),
    "ExportAudit": ("audit", "export", "{out}"),
    "ListCharges": ("report", "--out", "{out}"),
    "ListSealedCharges": ("report", "--confidential", "--ledger-key", "{key}", "--out", "{out}"),
    "PublishEpsilon": ("publish-epsilon", *UNIT, "--beta", "0.1", "--sigma", "10", *WHY),
}
"""A command for every call of the administrator's service."""


class AdministratorClients:
    """Command lines of an administrator."""

    def __init__(self, recorder: Recorder, site: Path, guardian: str, key: Path, folder: Path) -> None:
        """Take the recordings, an administrator's site, the guardian's address and key, and a work folder."""
        self._recorder = recorder
        self.site = _moved(site, folder / "admin", guardian=guardian)
        names = ("agreement", "policy", "revocations", "out")
        self._files = {"key": key} | {name: folder / name for name in names}
        self._command = typer.main.get_command(app)

    def clients(self) -> Iterator[Client]:
        """Yield a client for every call of the service."""
        self._write_files()
        beside = self.answers()
        for name, words in COMMANDS.items():
            path = f"{ADMIN}{name}"
            yield Client(
                name,
                answered_by(path),
                "guardian",
                beside[path],
                partial(self._run, words),
                beside=beside,
                weight=RARELY,
                lists=True,
            )

    def answers(self) -> dict[str, tuple[bytes, ...]]:
        """Return an honest guardian's answer to every call of the service."""
        return {path: self._replies(path) for path in map(ADMIN.__add__, COMMANDS)}

    def _replies(self, path: str) -> tuple[bytes, ...]:
        """Return the guardian's recorded replies; without any, empty ones."""
        exchanges = self._recorder.exchanges[path]
        if exchanges:
            return exchanges[-1].replies
        answered = answered_by(path)
        return () if answered.streams else (answered.reply().SerializeToString(),)

    def _write_files(self) -> None:
        for name, method in (
            ("agreement", "GrantBudget"),
            ("policy", "ApplyPolicy"),
            ("revocations", "Revoke"),
        ):
            request = answered_by(f"{ADMIN}{method}").request()
            for exchange in self._recorder.exchanges[f"{ADMIN}{method}"][:1]:
                request.ParseFromString(exchange.requests[0])
            self._files[name].write_bytes(_content(request))

    def _run(self, words: tuple[str, ...]) -> None:
        named = {name: str(path) for name, path in self._files.items()}
        options = ("--site", str(self.site), "--json", str(self.site / "out.json"))
        arguments = [*(word.format_map(named) for word in words), *options]
        with redirect_stdout(io.StringIO()):
            self._command.main(arguments, standalone_mode=False)


class SiteClients:
    """The calls of `query status` and `site check` to a guardian and a party."""

    def __init__(
        self, recorder: Recorder, site: Path, guardian: str, party: tuple[str, str], folder: Path
    ) -> None:
        """Take the recordings, a querying site's folder, its guardian's address, a party's name and
        address."""
        self._recorder = recorder
        self._folder = _moved(site, folder / "status", guardian=guardian, parties=dict([party]))
        loaded = load_site(self._folder)
        self._place = Place(self._folder, loaded, Credentials.of(loaded), SystemClock())

    def clients(self) -> Iterator[Client]:
        """Yield a client of each command for each of the two servers, and one for `Standing`."""
        standing = f"{GUARDIAN}Standing"
        about, stands = self._recorder.exchanges[ABOUT], self._recorder.exchanges[standing]
        if not about or not stands:
            return
        status = partial(query_status, self._folder)
        beside = {standing: stands[0].replies}
        for server, one in zip(("guardian", "party"), peer_check.peers(self._place), strict=True):
            answered = answered_by(ABOUT)
            check = partial(peer_check.peer, self._place, one)
            for name, call in (("checked", check), ("in status", status)):
                replies = about[0].replies
                named = f"About, {server} {name}"
                yield Client(named, answered, server, replies, call, beside=beside, weight=RARELY)
        yield Client(
            "Standing",
            answered_by(standing),
            "guardian",
            stands[0].replies,
            status,
            beside={ABOUT: about[0].replies},
            weight=RARELY,
        )


def _moved(site: Path, to: Path, **addresses: Any) -> Path:
    """Copy a site's folder, with servers at other addresses."""
    shutil.copytree(site, to)
    write_site(load_site(to).model_copy(update=addresses))
    return to


def _content(request: Any) -> bytes:
    """Return an administrator's file content for a request to the guardian."""
    content: bytes
    match request:
        case admin_pb2.GrantBudgetRequest():
            content = request.agreement.SerializeToString()
        case admin_pb2.ApplyPolicyRequest():
            content = request.toml.encode()
        case _:
            content = request.revocations
    return content
