"""Nothing that an administrator is told is, or is computed from, an amount that depends on votes."""

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message

from ostraka.common.console.texts import epsilon_text
from ostraka.common.privacy import AMOUNT_UNIT
from ostraka.guardian.admin.confidential import totals
from ostraka.guardian.admin.dpia import read_assessment, render_markdown
from ostraka.guardian.admin.exports import rows_of
from ostraka.guardian.admin.report import read_report, render
from ostraka.guardian.admin.texts import spending_text
from ostraka.guardian.ledger import Cipher, LedgerReader, load_or_create_key
from ostraka.guardian.ledger.sessions import recorded_charges
from ostraka.guardian.ledger.units import balances
from ostraka.protos.ostraka.v1 import admin_pb2
from tests.guardian.admin.support import UNIT, agree, label
from tests.guardian.federation import Calls, Federation

POLICY = 'enforce = "data_dependent"\nbound = "exact"\nmin_sigma = 0.5\n[policy.consent]\nlow = 900.0\n'
PUBLISHES = "PublishEpsilon"
"""Publishes with noise, and charges that; test_publication_admin.py has it."""
METHODS = admin_pb2.DESCRIPTOR.services_by_name["Admin"].methods
FORBIDDEN = ("vote", "histogram", "data_dependent", "count", "share", "seed")
ALLOWED = {"max_votes_per_person", "shared_features", "whole_persons"}


def replies(guardian: Calls, federation: Federation, session: str) -> dict[str, list[Message]]:
    """Return what every method answers, by its name."""
    admin = guardian.admin
    because: dict[str, Any] = {"reason": "to look"}
    agreement = agree(federation, epsilon_before=900.0)
    single: dict[str, Message] = {
        "SetParty": admin.SetParty(admin_pb2.SetPartyRequest(party="a", state="active", **because)),
        "SetBudget": admin.SetBudget(admin_pb2.SetBudgetRequest(**UNIT, epsilon=950.0)),
        "SetConsent": admin.SetConsent(admin_pb2.SetConsentRequest(**UNIT, level="low")),
        "GrantBudget": admin.GrantBudget(admin_pb2.GrantBudgetRequest(agreement=agreement, **because)),
        "FreezeBudget": admin.FreezeBudget(admin_pb2.FreezeBudgetRequest(**UNIT, **because)),
        "WithdrawConsent": admin.WithdrawConsent(admin_pb2.WithdrawConsentRequest(**UNIT, **because)),
        "ShowPolicy": admin.ShowPolicy(admin_pb2.ShowPolicyRequest()),
        "ApplyPolicy": admin.ApplyPolicy(admin_pb2.ApplyPolicyRequest(toml="", check_only=True)),
        "ShowSession": admin.ShowSession(admin_pb2.ShowSessionRequest(session_id=session)),
        "CancelSession": admin.CancelSession(admin_pb2.CancelSessionRequest(session_id=session, **because)),
        "Revoke": guardian.revoke(federation.revoke()),
        "Head": admin.Head(admin_pb2.HeadRequest()),
    }
    streams: dict[str, list[Message]] = {
        "ListParties": list(admin.ListParties(admin_pb2.ListPartiesRequest())),
        "ListBudgets": list(admin.ListBudgets(admin_pb2.ListBudgetsRequest())),
        "BudgetHistory": list(rows_of(admin.BudgetHistory(admin_pb2.BudgetHistoryRequest(**UNIT)))),
        "ListSessions": list(admin.ListSessions(admin_pb2.ListSessionsRequest())),
        "ExportAudit": list(admin.ExportAudit(admin_pb2.ExportAuditRequest())),
        "ListCharges": list(rows_of(admin.ListCharges(admin_pb2.ListChargesRequest()))),
        "ListSealedCharges": list(admin.ListSealedCharges(admin_pb2.ListSealedChargesRequest())),
    }
    return {name: [reply] for name, reply in single.items()} | streams


def names(message: Descriptor) -> Iterator[str]:
    """Every field's name in a message and the messages in it."""
    for field in message.fields:
        yield field.name
        if field.message_type is not None:
            yield from names(field.message_type)


def values(message: Message) -> Iterator[Any]:
    """Every value in a message and the messages in it."""
    for _, value in message.ListFields():
        for item in value if isinstance(value, Iterable) and not isinstance(value, str | bytes) else [value]:
            if isinstance(item, Message):
                yield from values(item)
            else:
                yield item


def secrets(folder: Path) -> tuple[set[float], set[int]]:
    """Data-dependent epsilons after every batch, and amounts of every charge and total."""
    epsilons = {spent["epsilon_data_dependent"] for unit in totals(folder) for spent in unit["history"]}
    cipher = Cipher(load_or_create_key(folder))
    with LedgerReader.open_read_only(folder / "ledger.db", cipher=cipher) as ledger:
        charged = {charge.data_dependent or 0 for charge in ledger.read(recorded_charges.charges)}
        return epsilons, charged | set(ledger.read(balances.data_dependent_totals).values())


def test_no_reply_holds_a_data_dependent_amount(tmp_path: Path) -> None:
    federation = Federation(tmp_path, policy=POLICY)
    with federation.guardian() as guardian:
        guardian.prepare_all()
        session = label(guardian)
        label(guardian, batch=2)
        told = replies(guardian, federation, session)
        page = render(read_report(guardian.admin, "test", 1, 0, 0))
        figures = render_markdown(read_assessment(guardian.admin, "test", 1, "1.3"))
        epsilons, amounts = secrets(federation.guardian_folder)
        worst = guardian.spent()
    assert {*told, PUBLISHES} == {method.name for method in METHODS}
    assert epsilons
    assert all(0 < epsilon < worst for epsilon in epsilons)
    found = [value for messages in told.values() for reply in messages for value in values(reply)]
    numbers = [float(value) for value in found if isinstance(value, int | float)]
    texts = [*(str(value) for value in found), page, figures]
    assert any(math.isclose(number, worst) for number in numbers)
    for epsilon in epsilons | {amount * AMOUNT_UNIT for amount in amounts}:
        assert not any(math.isclose(number, epsilon, rel_tol=1e-6) for number in numbers)
        assert not any(f"{epsilon:.4f}" in text or spending_text(epsilon) in text for text in texts)
        assert f" {epsilon_text(epsilon)} |" not in figures
    for amount in amounts:
        assert not any(str(amount) in text for text in texts)


def test_no_field_is_named_for_what_depends_on_votes() -> None:
    for method in METHODS:
        for name in names(method.output_type):
            assert name in ALLOWED or not any(word in name for word in FORBIDDEN), (method.name, name)
