"""Parties that fail in the middle of an encrypted batch, or keep to no protocol."""

import threading
from typing import Any

import pytest

from ostraka.client.peers.party_peer import PartyPeer
from ostraka.client.session.meter import StepProgress
from ostraka.client.session.run_state import load_state
from ostraka.common.errors import ErrorCode, OstrakaError
from tests.client.driving import right, rows, run, run_of
from tests.client.federation import Federation, refuse
from tests.client.session.test_encrypted_voting import encrypted

WAIT_S = 60.0


def calls(federation: Federation, site: str) -> list[str]:
    return [call for call, _, _ in federation.parties[site].received]


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("call", "alter", "code"),
    [
        ("Begin", lambda data: data[:-1], ErrorCode.MESSAGE_INVALID),
        ("Begin", lambda data: b"\xff" * len(data), ErrorCode.CRYPTO_REFUSED),
        ("Garble", lambda data: data[:-1], ErrorCode.MESSAGE_INVALID),
        ("Garble", lambda data: data + b"x", ErrorCode.MESSAGE_INVALID),
        ("Evaluate", lambda data: data[:-1], ErrorCode.MESSAGE_INVALID),
        ("Evaluate", lambda data: data + b"x", ErrorCode.MESSAGE_INVALID),
        ("Compare", lambda data: b"", ErrorCode.MESSAGE_INVALID),
    ],
)
def test_a_party_with_malformed_replies_is_left_out(
    federation: Federation, call: str, alter: Any, code: ErrorCode
) -> None:
    federation.parties["b"].alter_step = lambda name, data: alter(data) if name == call else data
    result = run(federation, encrypted())
    assert rows(federation) == right(10)
    assert {site: stop.code for site, stop in result.left_out.items()} == {"b": code.value}
    assert list(federation.guardian.frozen.values()) == [["a", "c"]]
    after = {"Begin": "Garble", "Garble": "Compare", "Evaluate": "Compare"}
    assert after.get(call) not in calls(federation, "b")


@pytest.mark.heavy
@pytest.mark.parametrize("call", ["Begin", "Garble", "Evaluate", "Compare"])
def test_a_party_that_hangs_is_cut_off_once_the_time_is_over_and_the_quorum_is_in(
    federation: Federation, call: str
) -> None:
    """Its call is ended by the querying party; it goes on only after the run."""
    federation.guardian.freeze_s = -3600.0
    over, told = threading.Event(), list[StepProgress]()

    def hang(name: str) -> None:
        if name == call:
            over.wait(WAIT_S)

    federation.parties["b"].on_step = hang
    try:
        result = run(federation, encrypted(), on_step=told.append)
        assert not over.is_set()
    finally:
        over.set()
    assert rows(federation) == right(10)
    assert list(federation.guardian.frozen.values()) == [["a", "c"]]
    assert {site: stop.code for site, stop in result.left_out.items()} == {"b": "party.unreachable"}
    assert "freeze_after_s" in result.left_out["b"].message
    assert [one.done for one in told if one.step == "compare"] == [0, 1, 2]


@pytest.mark.heavy
def test_a_party_that_is_slow_is_waited_for_where_the_quorum_needs_it(federation: Federation) -> None:
    """It compares only once the two others have."""
    federation.guardian.freeze_s = -3600.0
    others = threading.Event()

    def straggle(name: str) -> None:
        if name == "Compare":
            assert others.wait(WAIT_S)

    def told(step: StepProgress) -> None:
        if (step.step, step.done) == ("compare", 2):
            others.set()

    federation.parties["b"].on_step = straggle
    result = run(federation, encrypted(quorum=3), on_step=told)
    assert not result.left_out
    assert rows(federation) == right(10)


@pytest.mark.heavy
def test_nothing_is_sent_to_a_party_after_its_last_step(federation: Federation) -> None:
    federation.parties["b"].alter_step = lambda call, data: bytes(len(data)) if call == "Compare" else data
    result = run(federation, encrypted())
    assert not result.left_out
    assert calls(federation, "b")[-1] == "Compare"
    assert len(calls(federation, "b")) == 4


@pytest.mark.heavy
def test_a_party_that_restarts_votes_on_the_next_batch(federation: Federation) -> None:
    restarted: list[str] = []

    def restart(call: str) -> None:
        if call == "Compare" and not restarted:
            restarted.append(call)
            raise refuse(ErrorCode.BATCH_RESTARTED)

    federation.parties["b"].on_step = restart
    result = run(federation, encrypted())
    assert not result.left_out
    assert rows(federation) == right(10)
    assert [batch.status for batch in load_state(run_of(federation)).batches] == ["dead", "released"]
    points = [data for call, _, data in federation.parties["a"].received if call == "Begin"]
    assert len(set(points)) == 2


@pytest.mark.heavy
def test_tables_that_break_off_are_taken_up_where_they_ended(federation: Federation) -> None:
    broken: list[str] = []

    def break_off(call: str) -> None:
        if call == "tables" and len(broken) < 2:
            broken.append(call)
            if len(broken) == 2:
                raise refuse(ErrorCode.SERVER_UNREACHABLE)

    federation.parties["b"].on_step = break_off
    result = run(federation, encrypted())
    assert len(broken) == 2
    assert not result.left_out
    assert rows(federation) == right(10)
    extensions = [data for call, _, data in federation.parties["b"].received if call == "Garble"]
    assert len(extensions) == 2
    assert len(set(extensions)) == 1


@pytest.mark.heavy
@pytest.mark.parametrize("method", ["begin", "garble", "evaluate", "compare"])
def test_a_killed_run_asks_again_under_a_new_id(
    federation: Federation, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    with monkeypatch.context() as patch:

        def kill(*_: Any) -> None:
            raise KeyboardInterrupt

        patch.setattr(PartyPeer, method, kill)
        with pytest.raises(KeyboardInterrupt):
            run(federation, encrypted())
    result = run(federation, encrypted())
    assert result.answered == 10
    assert rows(federation) == right(10)
    assert [batch.status for batch in load_state(run_of(federation)).batches] == ["dead", "released"]


@pytest.mark.heavy
def test_too_few_parties_end_the_run(federation: Federation) -> None:
    for site in ("a", "b"):
        federation.parties[site].alter_step = lambda _, data: data[:-1]
    with pytest.raises(OstrakaError) as lost:
        run(federation, encrypted())
    assert lost.value.code is ErrorCode.QUORUM_LOST
    assert not federation.guardian.sums
