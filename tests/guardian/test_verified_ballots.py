"""Verified ballots between parties, a querying party and a real guardian."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ostraka.client.peers.verification import Verification
from ostraka.common.identity import Role
from ostraka.common.mechanism import L1, Binary, DistributedGnMax, GnMax, Mechanism, Tau
from ostraka.common.plan.fields import NONCE_BYTES
from ostraka.common.privacy.summed_noise import share_sigma
from ostraka.common.verified.parts import context_of, parts_of
from ostraka.guardian.ledger.sessions import refused_ballots
from ostraka.protos.ostraka.v1 import admin_pb2, common_pb2, guardian_pb2
from tests.guardian.blind.querying import Querying
from tests.guardian.federation import PARTIES, TEACHERS, Calls, Federation, group, plan, refusal
from tests.guardian.verified_batch import SIZE, Batch, ledger_away, verified


@pytest.fixture
def calls(tmp_path: Path) -> Iterator[Calls]:
    with Federation(tmp_path).guardian() as guardian:
        guardian.prepare_all()
        yield guardian


NOISED = DistributedGnMax(sigma=1.0, honest=2)
ALONE = DistributedGnMax(sigma=1.0, honest=1)
BOUND = math.ceil(12 * share_sigma(1.0, 1) * 2**16)
"""Of the noise of each party where one is relied on, in steps."""
VOTES = TEACHERS * 2**16
"""That a party's teachers can give one class, in steps."""


def refusals(calls: Calls) -> list[str]:
    rows = calls.admin.ExportAudit(admin_pb2.ExportAuditRequest())
    return [row.payload for row in rows if "ballots_refused" in row.payload]


@pytest.mark.parametrize("bits", [31, 61])
def test_honest_ballots_are_released(calls: Calls, bits: int) -> None:
    batch = Batch(calls, verified(ring_bits=bits))
    batch.vote()
    assert batch.verify() == []
    assert list(calls.prepare(batch.session, 1).frozen) == list(PARTIES)
    assert batch.release(PARTIES) == [(True, 2)] * SIZE
    assert calls.spent("a") > 0


@pytest.mark.parametrize("votes", [1, 1000, 2**30])
def test_a_party_that_stuffs_its_ballots_is_left_out(calls: Calls, votes: int) -> None:
    batch = Batch(calls, verified())
    batch.stuff("c", votes)
    batch.vote()
    assert batch.verify() == ["c"]
    assert batch.verify() == ["c"], "a retry is told the same"
    rest = [site for site in PARTIES if site != "c"]
    assert list(calls.prepare(batch.session, 1).frozen) == rest
    assert batch.release(rest) == [(True, 2)] * SIZE
    assert calls.spent("a") > 0
    assert calls.spent("c") == 0
    (refused,) = refusals(calls)
    assert '"parties":["c"]' in refused


def test_a_blind_tally_leaves_out_a_party_that_stuffs_its_ballots(calls: Calls) -> None:
    batch = Batch(calls, verified(tally="blind", mechanism=GnMax(sigma=0.5)))
    batch.stuff("c", 1000)
    batch.vote()
    assert batch.verify() == ["c"]
    rest = [site for site in PARTIES if site != "c"]
    assert list(calls.prepare(batch.session, 1).frozen) == rest
    querying = Querying(calls, batch.plan, batch.session, 1, batch.total(rest))
    assert querying.answers(np.ones((SIZE, 1), dtype=np.bool_)).tolist() == [2] * SIZE
    assert calls.settle(batch.session, 1).released
    assert calls.spent("a") > 0
    assert calls.spent("c") == 0


@pytest.mark.parametrize("tally", ["aggregate", "blind"])
def test_ballots_with_the_noise_of_parties_are_released(calls: Calls, tally: str) -> None:
    batch = Batch(calls, verified(tally=tally, mechanism=NOISED, quorum=3))
    batch.vote()
    assert batch.verify() == []
    assert list(calls.prepare(batch.session, 1).frozen) == list(PARTIES)
    if tally == "aggregate":
        assert batch.release(PARTIES) == [(True, 2)] * SIZE
    else:
        querying = Querying(calls, batch.plan, batch.session, 1, batch.total(PARTIES))
        assert querying.answers(np.ones((SIZE, 1), dtype=np.bool_)).tolist() == [2] * SIZE
        assert calls.settle(batch.session, 1).released
    assert calls.spent("a") > 0


@pytest.mark.parametrize(
    ("within", "beyond"),
    [(BOUND + VOTES, BOUND + VOTES + 1), (-BOUND, -BOUND - 1), (BOUND, 1000 * BOUND)],
)
def test_a_party_whose_count_no_votes_and_noise_can_be_is_left_out_and_named(
    calls: Calls, within: int, beyond: int
) -> None:
    batch = Batch(calls, verified(mechanism=ALONE))
    batch.claim("b", within)
    batch.claim("c", beyond)
    batch.vote()
    assert batch.verify() == ["c"]
    assert list(calls.prepare(batch.session, 1).frozen) == ["a", "b"]
    assert [answered for answered, _ in batch.release(["a", "b"])] == [True] * SIZE
    assert (calls.spent("c"), calls.spent("a") > 0) == (0, True)
    (refused,) = refusals(calls)
    assert '"parties":["c"]' in refused


def test_a_unit_that_moves_counts_beyond_two_deviations_of_a_party_opens_no_session(calls: Calls) -> None:
    calls.register("c", max_votes_per_person=2)
    told = "party c moves a count by 2 votes"
    assert refusal(lambda: calls.open(verified(mechanism=NOISED, quorum=3)), told) == "plan.invalid"
    assert calls.open(plan(mechanism=NOISED, quorum=3)).session_id


@pytest.mark.parametrize(
    ("mechanism", "within"), [(Tau(sigma=1.0, tau=1.5), [1, 2]), (L1(sigma=1.0, tau1=2.0), [1, 2])]
)
@pytest.mark.parametrize("bits", [31, 61])
def test_a_party_that_votes_beyond_its_norm_is_left_out(
    calls: Calls, bits: int, mechanism: Mechanism, within: list[int]
) -> None:
    """Whole votes for three labels are too much for a radius that leaves room for two."""
    batch = Batch(calls, verified(multi_label=True, mechanism=mechanism, ring_bits=bits))
    batch.overstate("b", *within)
    batch.overstate("c", *within, 3)
    batch.vote()
    assert batch.verify() == ["c"]
    assert list(calls.prepare(batch.session, 1).frozen) == ["a", "b"]


@pytest.mark.parametrize(
    "changes",
    [(1,), (0, 0, -1), (-1, 1), (0, 1, 1), (0, 0, 1)],
    ids=[
        "a vote too many",
        "a vote too few",
        "a negative count",
        "more votes than teachers",
        "a digit too large",
    ],
)
def test_every_row_is_held_against_the_teachers(calls: Calls, changes: tuple[int, ...]) -> None:
    batch = Batch(calls, verified())
    batch.alter("c", *changes)
    batch.vote()
    assert batch.verify() == ["c"]
    assert calls.spent("c") == 0


def test_refused_ballots_are_noted_although_the_ledger_was_away(
    calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = Batch(calls, verified())
    batch.stuff("c", 1)
    batch.vote()
    with monkeypatch.context() as away:
        away.setattr(refused_ballots, "record", ledger_away)
        assert refusal(batch.verify) == "ledger.locked"
    assert batch.verify() == batch.verify() == ["c"]
    assert len(refusals(calls)) == 1


def test_a_party_whose_norms_do_not_fit_the_field_is_refused_before_anybody_is_asked(calls: Calls) -> None:
    asked = {"mechanism": Tau(sigma=1.0, tau=2.0), "classes": 20, "multi_label": True}
    calls.register("c", groups=[group("all", records=1000, teachers=400)])
    assert refusal(lambda: calls.open(verified(**asked)), told="party c") == "plan.invalid"
    assert calls.open(verified(**asked, ring_bits=61)).session_id


def test_ballots_without_proof_are_neither_released_nor_refused(calls: Calls) -> None:
    batch = Batch(calls, verified())
    batch.vote("a", "b")
    batch.submit("c")
    assert batch.verify() == []
    late = bytes(batch.parts["c"][0].layout.proof_bytes)
    assert refusal(lambda: batch.prove("c", late)) == "batch.out_of_order"
    assert refusal(lambda: batch.submit("c")) == "batch.frozen"
    assert list(calls.prepare(batch.session, 1).frozen) == ["a", "b"]


def test_retries_get_the_same_challenge_and_other_content_is_refused(calls: Calls) -> None:
    batch = Batch(calls, verified())
    challenge = batch.submit("a")
    assert batch.submit("a") == challenge
    proof = batch.provers["a"].prove(challenge)
    batch.prove("a", proof)
    batch.prove("a", proof)
    assert refusal(lambda: batch.prove("a", proof[:-1] + bytes([proof[-1] ^ 1]))) == "batch.altered"
    batch.stuff("a", 1)
    assert refusal(lambda: batch.submit("a")) == "batch.altered"
    batch.vote("b", "c")
    batch.verify("b", "c")
    other = Verification.of((batch.session, 1), bytes([1]) * 32, batch.parts, batch.seeds)
    assert refusal(lambda: calls.query.VerifyBallots(other.messages())) == "batch.altered"


def test_a_guardian_that_restarts_after_its_challenges_charges_nothing(tmp_path: Path) -> None:
    federation = Federation(tmp_path)
    with federation.guardian() as before:
        before.prepare_all()
        batch = Batch(before, verified())
        batch.vote("a", "b")
        proof = batch.provers["c"].prove(batch.submit("c"))
    with federation.guardian() as after:
        batch.calls = after
        assert refusal(lambda: batch.prove("c", proof)) == "batch.dead"
        assert refusal(lambda: batch.submit("a")) == "batch.dead"
        assert refusal(batch.verify) == "batch.dead"
        assert after.spent("a") == 0
        again = Batch(after, verified(nonce=secrets.token_bytes(NONCE_BYTES)))
        again.vote()
        assert again.verify() == []
        assert list(after.prepare(again.session, 1).frozen) == list(PARTIES)


@pytest.mark.parametrize("other", [("x", 1, "c"), ("", 2, "c"), ("", 1, "b")])
def test_a_proof_for_another_session_batch_or_party_is_refused(
    calls: Calls, other: tuple[str, int, str]
) -> None:
    batch = Batch(calls, verified())
    session, number, site = other
    batch.provers["c"] = batch.prover("c", context_of(session or batch.session, number, site))
    batch.vote()
    assert batch.verify() == ["c"]


def test_a_set_is_frozen_only_after_its_ballots_were_verified(calls: Calls) -> None:
    batch = Batch(calls, verified())
    batch.vote()
    assert refusal(lambda: calls.prepare(batch.session, 1)) == "batch.out_of_order"
    assert batch.verify() == []
    assert list(calls.prepare(batch.session, 1).frozen) == list(PARTIES)


def test_a_querying_party_that_lies_leaves_a_party_out(calls: Calls) -> None:
    batch = Batch(calls, verified())
    batch.vote()
    batch.seeds["b"] = secrets.token_bytes(32)
    assert batch.verify() == ["b"]
    assert list(calls.prepare(batch.session, 1).frozen) == ["a", "c"]


@pytest.mark.parametrize("cut", [0, 5])
def test_messages_of_other_lengths_are_invalid(calls: Calls, cut: int) -> None:
    batch = Batch(calls, verified())
    batch.submit("a")
    assert refusal(lambda: batch.prove("a", bytes(cut))) == "message.invalid"
    short = Verification((batch.session), 1, bytes(cut), {})
    assert refusal(lambda: calls.query.VerifyBallots(short.messages())) == "message.invalid"


def test_a_verification_of_other_parties_or_lengths_is_invalid_and_kept_nowhere(calls: Calls) -> None:
    batch = Batch(calls, verified())
    batch.vote()
    told = batch.verification()
    commitment, share = told.parties["a"]
    for site, wrong in {
        "stranger": (commitment, share),
        "a": (commitment, share + bytes(4)),
        "b": (commitment, b""),
        "c": (commitment[:-1], share),
    }.items():
        other = Verification(batch.session, 1, told.point_seed, {**told.parties, site: wrong})
        assert refusal(lambda: calls.query.VerifyBallots(other.messages())) == "message.invalid"  # noqa: B023
    twice = [*told.messages(), list(told.messages())[-1]]
    assert refusal(lambda: calls.query.VerifyBallots(iter(twice))) == "message.invalid"
    assert batch.verify() == []


def test_proofs_are_refused_where_ballots_are_not_verified(calls: Calls) -> None:
    session = calls.open().session_id
    calls.ticket(session, 1, SIZE)
    header = guardian_pb2.ProofHeader(session_id=session, batch_id=1)
    request = guardian_pb2.SubmitProofRequest(header=header)
    stub = calls.stub("a", Role.PARTY)
    assert refusal(lambda: stub.SubmitProof(iter([request]))) == "batch.out_of_order"


def test_a_policy_may_ask_for_verified_ballots(calls: Calls) -> None:
    calls.apply_policy('ballots = "verified"\nmin_sigma = 0.5\n')
    assert refusal(lambda: calls.open(plan()), told="verified ballots") == "policy.refused"
    assert calls.open(verified()).session_id


@pytest.mark.parametrize(
    "changes",
    [
        {"multi_label": True, "mechanism": Tau(sigma=1.0, tau=0.02)},
        {"multi_label": True, "mechanism": L1(sigma=1.0, tau1=0.01)},
        {"encoding": "ckks"},
    ],
)
def test_ballots_without_a_proof_cannot_be_asked_for(changes: dict[str, Any]) -> None:
    with pytest.raises(Exception, match="ballots unverified"):
        verified(**changes)


def test_each_label_has_votes_of_its_own(calls: Calls) -> None:
    asked = verified(multi_label=True, mechanism=Binary(sigma=1.0))
    participant = common_pb2.Participant(
        site="a", abstains=[1], cohorts=[common_pb2.Cohort(teachers=3, weight=2**16)]
    )
    (part,) = parts_of(asked, participant, np.ones((1, SIZE), dtype=np.bool_))
    assert part.layout.statement.cells == asked.classes - 1
    ballots = np.tile(np.arange(asked.classes) % 3, (SIZE, 1)).astype(np.float64)
    shared = part.ballots(part.counts(ballots).astype(np.uint64), SIZE, asked.classes)
    ballots[:, 1] = 0
    assert np.array_equal(asked.modulus.lift(shared), (ballots * 2**16).astype(np.int64))


@pytest.mark.parametrize(
    ("mechanism", "unit"), [(Tau(sigma=1.0, tau=1.5), 2**10), (L1(sigma=1.0, tau1=1.5), 2**8)]
)
def test_clipped_votes_weigh_no_more_than_their_weight(mechanism: Mechanism, unit: int) -> None:
    asked = verified(multi_label=True, mechanism=mechanism)
    participant = common_pb2.Participant(site="a", cohorts=[common_pb2.Cohort(teachers=3, weight=50_001)])
    (part,) = parts_of(asked, participant, np.ones((1, SIZE), dtype=np.bool_))
    counts = np.random.default_rng(0).integers(0, 30, (SIZE, asked.classes))
    assert np.array_equal(part.counts(counts * unit / 2**16), counts)
    shared = asked.modulus.lift(part.ballots(counts.astype(np.uint64), SIZE, asked.classes))
    assert np.array_equal(shared, counts * (50_001 * unit // 2**16))
