"""Which trainings a party takes part in."""

from typing import Any

import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Role
from ostraka.common.mechanism import DpTtac, GnMax
from ostraka.common.sharing.ballots import VOTE
from ostraka.services.journal.journal import Journal
from tests.services.training.lead import BY_RECORD, PLAIN, RECIPE, Lead, Sent, Training, training
from tests.services.wire import Federation, scheduled


def refusals(lead: Lead, sent: Sent, last: Sent, told: str | None = None) -> set[ErrorCode]:
    """Return what a round, and the end of a training, are refused with, in sentences with `told` in them."""
    with pytest.raises(OstrakaError, match=told) as round_refused:
        lead.train(sent)
    with pytest.raises(OstrakaError, match=told) as last_refused:
        lead.finish(last)
    return {round_refused.value.code, last_refused.value.code}


def all_refusals(lead: Lead, told: str | None = None) -> set[ErrorCode]:
    return refusals(lead, lead.round(1), lead.last(), told)


@pytest.mark.parametrize("role", [Role.QUERY, Role.GUARDIAN, Role.ADMIN])
def test_only_parties_lead(noisy: Training, role: Role) -> None:
    noisy.made.querier = noisy.made.issue("sparta", role)
    with noisy.serving() as lead:
        assert all_refusals(lead) == {ErrorCode.IDENTITY_WRONG_ROLE}
        with pytest.raises(OstrakaError) as refused:
            lead.join("dp_ttac")
    assert refused.value.code is ErrorCode.IDENTITY_WRONG_ROLE


def test_a_party_that_takes_no_part_does_not_lead(noisy: Training) -> None:
    noisy.made.querier = noisy.made.issue("argos", Role.PARTY)
    with noisy.serving() as lead:
        assert all_refusals(lead, "takes no part") == {ErrorCode.PLAN_INVALID}


def test_a_grant_is_of_no_use_to_another_party(noisy: Training) -> None:
    with noisy.serving() as lead:
        sent, last = lead.round(1), lead.last()
    with noisy.serving(noisy.made.issue("sparta", Role.PARTY)) as other:
        assert refusals(other, sent, last) == {ErrorCode.GRANT_INVALID}
        assert noisy.journaled() == 0


@pytest.mark.parametrize("mechanism", [PLAIN, GnMax(sigma=40.0)])
def test_another_kind_of_session_is_refused(noisy: Training, mechanism: Any) -> None:
    noisy.made.set_policy(mechanisms=["ttac", "dp_ttac", "gnmax"])
    noisy.made.replan(mechanism=mechanism)
    with noisy.serving() as lead:
        assert all_refusals(lead, f"is by {mechanism.kind}") == {ErrorCode.PLAN_INVALID}


@pytest.mark.parametrize("changes", [{"parameters": RECIPE.parameters + 1}, {"model": "mlp"}])
def test_another_network_is_refused(noisy: Training, changes: dict[str, Any]) -> None:
    recipe = RECIPE.model_copy(update=changes)
    noisy.made.replan(mechanism=DpTtac(recipe=recipe, radius=1.0, sigma=20.0))
    with noisy.serving() as lead:
        assert all_refusals(lead, "training is of") == {ErrorCode.PLAN_INVALID}


def test_without_formal_guarantee_only_where_the_policy_says_so(attica: Federation) -> None:
    party = training(attica, "ttac", PLAIN)
    with party.serving() as lead:
        assert all_refusals(lead, "no formal guarantee") == {ErrorCode.POLICY_REFUSED}
    attica.set_policy(mechanisms=["ttac"])
    with party.serving() as lead:
        lead.update(1)


def test_a_policy_for_labels_alone_refuses_trainings(noisy: Training) -> None:
    noisy.made.set_policy(mechanisms=["gnmax"])
    with noisy.serving() as lead:
        assert all_refusals(lead) == {ErrorCode.POLICY_REFUSED}


def test_another_task_is_refused(noisy: Training) -> None:
    noisy.made.replan(task_digest=bytes(32))
    with noisy.serving() as lead:
        assert all_refusals(lead) == {ErrorCode.TASK_MISMATCH}


@pytest.mark.parametrize("changes", [{"teachers": 4}, {"together": "ttac"}, {"max_votes_per_person": 2}])
def test_a_grant_for_other_teachers_is_refused(noisy: Training, changes: dict[str, Any]) -> None:
    with noisy.serving() as lead:
        known = [lead.participant("athens", **changes)]
        grant = lead.grant(participants=known)
        sent, last = lead.round(1), lead.last()
        sent.grant, last.grant = grant, grant
        sent.ticket = lead.ticket(1, participant=known[0])
        assert refusals(lead, sent, last) == {ErrorCode.TICKET_INVALID}


def test_teachers_of_all_levels_take_a_round(noisy: Training) -> None:
    noisy.share_out_by_level()
    with noisy.serving(variant="vanishing", consent={"low": 1.0, "high": 2.0}) as lead:
        known = lead.participant("athens")
        del known.cohorts[:]
        for name, teachers in (("high", 2), ("low", 1)):
            known.cohorts.add(groups=[name], teachers=teachers, weight=VOTE, copies=[1])
        sent = lead.round(1)
        sent.grant = lead.grant(participants=[known])
        sent.ticket = lead.caller.ticket(1, 1, schedule=[scheduled(known, b"\x80", b"\x00")])
        with pytest.raises(OstrakaError) as refused:
            lead.train(sent)
        assert refused.value.code is ErrorCode.TICKET_INVALID
        sent.ticket = lead.ticket(1, participant=known)
        lead.train(sent)
    with Journal(noisy.made.party / "journal.db") as journal:
        assert sorted(charge.group for _, _, charge in journal.receipts()) == ["high", "low"]


def test_a_ticket_of_another_session_is_refused(noisy: Training) -> None:
    with noisy.serving() as lead:
        sent = lead.round(1)
        sent.ticket = lead.ticket(1, "other")
        with pytest.raises(OstrakaError) as refused:
            lead.train(sent)
    assert refused.value.code is ErrorCode.TICKET_INVALID


@pytest.mark.parametrize("changes", [{"epochs": 3}, {"held_out": 0.2}, {"balanced": True}])
def test_settings_of_teachers_that_learn_apart_are_refused(noisy: Training, changes: dict[str, Any]) -> None:
    with pytest.raises(OstrakaError, match=next(iter(changes))) as refused, noisy.serving(**changes):
        pass
    assert refused.value.code is ErrorCode.CONFIG_INVALID
    assert not noisy.made.guardian.manifests


@pytest.mark.parametrize("model", ["random_forest", "file:nets.pt2"])
def test_only_networks_that_are_trained_here_learn_together(noisy: Training, model: str) -> None:
    with pytest.raises(OstrakaError, match=f"{model} is none") as refused:
        noisy.prepared(model=model)
    assert refused.value.code is ErrorCode.CONFIG_INVALID


def test_votes_are_not_asked_for_rounds(noisy: Training) -> None:
    assert noisy.mechanism == BY_RECORD
    with noisy.serving() as lead:
        lead.finish(lead.last())
    noisy.made.querier = noisy.made.issue("delos", Role.QUERY)
    with noisy.made.serving() as caller:
        lead = Lead(caller, "dp-ttac")
        ask = caller.ask(noisy.made.task.prepare(noisy.records.X[:1]))
        ask.grant, ask.ticket = lead.grant(), lead.ticket(1)
        with pytest.raises(OstrakaError, match="ask for updates with Train") as refused:
            caller.vote(ask)
    assert refused.value.code is ErrorCode.PLAN_INVALID


def test_another_party_does_not_end_or_restart_a_training_under_way(plain: Training) -> None:
    sparta = plain.made.issue("sparta", Role.PARTY)
    with plain.serving() as lead, plain.made.calling(lead.caller.address, sparta) as caller:
        other = Lead(caller, "ttac")
        lead.update(1)
        theirs = other.grant(session_id="other", querier=sparta.identity.uri)
        sent, last = other.round(2, "other"), other.last("other")
        sent.grant = last.grant = theirs
        assert refusals(other, sent, last) == {ErrorCode.POLICY_REFUSED}
        with pytest.raises(OstrakaError, match=r"is led by thebes: .* remove teachers.together"):
            other.finish(last)
        assert (plain.journaled(), plain.trained) == (1, [])
        lead.update(3, round=1, counted=1)
        lead.finish(lead.last("new"))
    assert len(plain.trained) == 1


def test_a_training_ends_though_its_grant_has_expired(noisy: Training) -> None:
    with noisy.serving() as lead:
        lead.update(1)
        last, late = lead.last(round=1, counted=1), lead.round(2, round=1, counted=1)
        last.grant = late.grant = lead.grant(not_before_unix_s=0, expires_unix_s=1)
        with pytest.raises(OstrakaError) as refused:
            lead.train(late)
        assert refused.value.code is ErrorCode.GRANT_EXPIRED
        lead.finish(last)
    assert len(noisy.trained) == 1


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"not_before_unix_s": 2**36, "expires_unix_s": 2**37}, ErrorCode.GRANT_NOT_YET_VALID),
        ({"expires_unix_s": 1, "plan_digest": bytes(32)}, ErrorCode.GRANT_INVALID),
        ({"expires_unix_s": 1, "querier": "ostraka://attica/sparta/party"}, ErrorCode.GRANT_INVALID),
    ],
)
def test_the_end_of_no_such_grant_is_refused(
    noisy: Training, changes: dict[str, Any], code: ErrorCode
) -> None:
    with noisy.serving() as lead:
        last = lead.last()
        last.grant = lead.grant(**changes)
        with pytest.raises(OstrakaError) as refused:
            lead.finish(last)
    assert refused.value.code is code
    assert not noisy.trained
