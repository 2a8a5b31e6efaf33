"""Who lied about ballots that were refused: real guardians and links of parties, and liars on both sides."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from structlog.testing import capture_logs

from ostraka.client.peers.verification import Verification
from ostraka.common.clock import ManualClock, SystemClock
from ostraka.common.errors import OstrakaError
from ostraka.common.identity import Role
from ostraka.common.mechanism import L1, Binary, GnMax, Mechanism, Tau
from ostraka.common.plan.fields import NONCE_BYTES
from ostraka.common.verified.attestation import Attester, share_digest
from ostraka.common.verified.parts import context_of
from ostraka.common.wire.contexts import ATTESTATION_CONTEXT, EVALUATION_CONTEXT, MANIFEST_CONTEXT
from ostraka.common.wire.limits import check_limits
from ostraka.guardian.ledger.sessions import refused_ballots
from ostraka.guardian.sessions.attestations import MAX_ASKED
from ostraka.protos.ostraka.v1 import admin_pb2, common_pb2, guardian_pb2
from ostraka.services.journal.journal import Journal
from ostraka.services.voting.submission import GuardianLink
from tests.guardian.federation import PARTIES, TASK, Calls, Federation, group, refusal
from tests.guardian.verified_batch import Batch, ledger_away, verified

PARTY = "party lied"
EITHER = "one of two lied"


@dataclass
class Run:
    """A guardian, the links of its parties, and the sessions of one test."""

    federation: Federation
    calls: Calls
    links: dict[str, GuardianLink]
    sessions: list[str] = field(default_factory=list)

    def batch(self, **changes: Any) -> Batch:
        batch = Batch(self.calls, verified(nonce=secrets.token_bytes(NONCE_BYTES), **changes))
        self.sessions.append(batch.session)
        return batch

    def submit(self, batch: Batch) -> None:
        """Have every party submit and prove its ballots as parties do."""
        for site, link in self.links.items():
            link.submit(batch.share(site))

    def register(self, *sites: str) -> list[Any]:
        """Have parties register as they do, and return what their logs say."""
        with capture_logs() as logs:
            for site in sites or PARTIES:
                manifest = common_pb2.Manifest(
                    site=site,
                    task_digest=TASK,
                    groups=[group("all")],
                    max_votes_per_person=1,
                    training="test",
                )
                self.links[site].register(manifest)
        told = "ballots.refused", "ballots.not_attested"
        return [log for log in logs if log["event"] in told and log.get("session") in self.sessions]

    def asked(self, site: str) -> list[str]:
        """Return the sessions about whose ballots a party is asked."""
        asked = [common_pb2.Evaluation.FromString(one.payload) for one in self.calls.register(site).refused]
        return [one.session_id for one in asked if one.session_id in self.sessions]

    def found(self) -> list[tuple[str, str]]:
        """Whom the audit log names, and what that proved."""
        return [(row["party"], row["proved"]) for row in self.rows()]

    def rows(self) -> list[dict[str, Any]]:
        exported = self.calls.admin.ExportAudit(admin_pb2.ExportAuditRequest())
        rows = [json.loads(row.payload) for row in exported if "ballots_attested" in row.payload]
        return [row for row in rows if row["session"] in self.sessions]

    def attest(self, site: str, told: common_pb2.Attestation, signer: str = "") -> bool:
        credentials = self.federation.credentials[signer or site, Role.PARTY]
        signed = credentials.sign(ATTESTATION_CONTEXT, told.SerializeToString())
        request = guardian_pb2.AttestBallotsRequest(attestation=signed)
        return self.calls.stub(site, Role.PARTY).AttestBallots(request).party_lied


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Federation:
    return Federation(tmp_path_factory.mktemp("federation"), ManualClock(SystemClock().now()))


@pytest.fixture(scope="module")
def calls(federation: Federation) -> Iterator[Calls]:
    """Serve all tests of this module, each of which has sessions of its own."""
    with federation.guardian() as calls:
        calls.prepare_all()
        yield calls


def link_of(site: str, federation: Federation, calls: Calls, journal: Journal) -> GuardianLink:
    guardian = federation.credentials["guardian", Role.GUARDIAN].identity
    return GuardianLink(
        federation.credentials[site, Role.PARTY], calls.address, guardian, journal, federation.clock
    )


@pytest.fixture
def run(federation: Federation, calls: Calls, tmp_path: Path) -> Iterator[Run]:
    with ExitStack() as stack:
        links = {}
        for site in PARTIES:
            journal = stack.enter_context(Journal(tmp_path / f"{site}.db"))
            links[site] = stack.enter_context(closing(link_of(site, federation, calls, journal)))
        made = Run(federation, calls, links)
        yield made
        for session in made.sessions:
            calls.query.CloseSession(guardian_pb2.CloseSessionRequest(session_id=session))


def stuffs(batch: Batch) -> None:
    batch.stuff("c", 1)


def votes_too_much(batch: Batch) -> None:
    batch.alter("c", 1)


def votes_beyond_a_count(batch: Batch) -> None:
    batch.alter("c", 0, 1, 1)


def proves_nothing(batch: Batch) -> None:
    prover = batch.provers["c"]
    size = batch.parts["c"][0].layout.proof_bytes
    prover.prove = lambda challenge: bytes(size)  # type: ignore[method-assign]


def proves_no_elements(batch: Batch) -> None:
    prover = batch.provers["c"]
    size = batch.parts["c"][0].layout.proof_bytes
    prover.prove = lambda challenge: b"\xff" * size  # type: ignore[method-assign]


def answers_another_challenge(batch: Batch) -> None:
    prover = batch.provers["c"]
    proof = prover.prove(bytes(32))
    prover.prove = lambda challenge: proof  # type: ignore[method-assign]


def sends_another_share(batch: Batch) -> None:
    prover = batch.provers["c"]
    prover.guardian_share = bytes(len(prover.guardian_share))


LIES = [
    stuffs,
    votes_too_much,
    votes_beyond_a_count,
    proves_nothing,
    proves_no_elements,
    answers_another_challenge,
    sends_another_share,
]


@pytest.mark.parametrize("bits", [31, pytest.param(61, marks=pytest.mark.heavy)])
@pytest.mark.parametrize("lie", LIES, ids=[lie.__name__ for lie in LIES])
def test_a_party_that_lies_is_named(run: Run, lie: Callable[[Batch], None], bits: int) -> None:
    batch = run.batch(ring_bits=bits)
    lie(batch)
    run.submit(batch)
    assert batch.verify() == ["c"]
    assert run.found() == [], "it has not been asked yet"
    lied = (
        "this party's ballots are not votes of its teachers, or hold more noise than it may add, or no sum"
        " over its records"
    )
    assert [log["proved"] for log in run.register()] == [lied]
    assert run.found() == [("c", PARTY)]
    assert run.register() == []
    assert run.found() == [("c", PARTY)], "each batch is asked about once"


@pytest.mark.parametrize(
    "mechanism", [Tau(sigma=1.0, tau=1.5), L1(sigma=1.0, tau1=2.0)], ids=["squares", "absolutes"]
)
@pytest.mark.parametrize("bits", [31, 61])
def test_a_party_whose_votes_exceed_its_norm_is_named(run: Run, bits: int, mechanism: Mechanism) -> None:
    batch = run.batch(multi_label=True, mechanism=mechanism, ring_bits=bits)
    batch.overstate("c", 1, 2, 3)
    run.submit(batch)
    assert batch.verify() == ["c"]
    run.register()
    assert run.found() == [("c", PARTY)]


def shifted(batch: Batch, element: int) -> Verification:
    """Return what a querying party sends that moves one element of b's verifier share by 1."""
    told = batch.verification()
    commitment, share = told.parties["b"]
    size = batch.parts["b"][0].layout.field.element_bytes
    ring = batch.parts["b"][0].layout.field
    elements = ring.from_bytes(share, 1, len(share) // size)
    elements[0, element] = (elements[0, element] + np.uint64(1)) % np.uint64(ring.prime)
    return replace(told, parties={**told.parties, "b": (commitment, ring.to_bytes(elements))})


def denied(batch: Batch) -> Verification:
    """Return what a querying party sends that denies which seed b gave it."""
    told = batch.verification()
    return replace(told, parties={**told.parties, "b": (bytes(32), told.parties["b"][1])})


def unreadable(batch: Batch) -> Verification:
    told = batch.verification()
    commitment, share = told.parties["b"]
    return replace(told, parties={**told.parties, "b": (commitment, b"\xff" * len(share))})


def of_another_seed(batch: Batch) -> Verification:
    batch.seeds["b"] = secrets.token_bytes(32)
    return batch.verification()


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("bits", "mechanism"),
    [(31, GnMax(sigma=1.0)), (61, GnMax(sigma=1.0)), (31, Binary(sigma=1.0)), (31, Tau(sigma=1.0, tau=1.5))],
)
def test_an_honest_party_is_never_said_to_have_lied(run: Run, bits: int, mechanism: Mechanism) -> None:
    """Whatever a querying party sends of its ballots: a wire, the quotient, the sums, seed or commitment."""
    multi_label = not isinstance(mechanism, GnMax)
    ways = [
        *(lambda batch, element=element: shifted(batch, element) for element in (0, 1, -3, -2, -1)),
        denied,
        unreadable,
        of_another_seed,
    ]
    for way in ways:
        batch = run.batch(ring_bits=bits, mechanism=mechanism, multi_label=multi_label)
        run.submit(batch)
        told = way(batch)
        assert list(run.calls.query.VerifyBallots(told.messages()).refused) == ["b"]
    run.register()
    assert run.found() == [("b", EITHER)] * len(ways)


def test_who_is_not_refused_is_not_asked(run: Run) -> None:
    batch = run.batch()
    run.submit(batch)
    assert batch.verify() == []
    assert not any(run.asked(site) for site in PARTIES)
    assert refusal(lambda: run.attest("a", attestation(batch, "a"))) == "batch.out_of_order"


def attestation(batch: Batch, site: str, **changes: Any) -> common_pb2.Attestation:
    fields: dict[str, Any] = {
        "session_id": batch.session,
        "batch_id": 1,
        "sha256": batch.provers[site].attester.attest(bytes(32)),
    }
    return common_pb2.Attestation(**fields | changes)


def refused_batch(run: Run) -> Batch:
    """Return a batch in which c stuffed its ballots, and was refused."""
    batch = run.batch()
    stuffs(batch)
    run.submit(batch)
    assert batch.verify() == ["c"]
    return batch


def test_a_party_that_attests_falsely_is_one_of_two(run: Run) -> None:
    """What it signed stays in the audit log: with the seed, a third finds out which."""
    batch = refused_batch(run)
    assert not run.attest("c", attestation(batch, "c", sha256=bytes(32)))
    (row,) = run.rows()
    assert (row["party"], row["proved"], row["session"]) == ("c", EITHER, batch.session)
    assert row["querier"] == run.federation.credentials["q", Role.QUERY].identity.uri
    signed = common_pb2.Signed.FromString(bytes.fromhex(row["attestation"]))
    told = common_pb2.Attestation.FromString(signed.payload)
    assert (told.session_id, told.batch_id, told.sha256) == (batch.session, 1, bytes(32))
    layouts = [part.layout for part in batch.parts["c"]]
    context = context_of(batch.session, 1, "c")
    sent = batch.verification().parties["c"][1]
    assert row["sent_sha256"] == share_digest(layouts, context, bytes(32), sent).hex()
    assert row["sent_sha256"] == Attester(layouts, context, batch.seeds["c"]).attest(bytes(32)).hex()
    assert row["commitment"] == row["sent_commitment"] == batch.provers["c"].commitment.hex()
    evaluation = common_pb2.Signed.FromString(bytes.fromhex(row["evaluation"]))
    told_of = common_pb2.Evaluation.FromString(evaluation.payload)
    assert (told_of.session_id, told_of.batch_id, told_of.point_seed) == (batch.session, 1, bytes(32))


def test_a_party_gives_the_querying_party_another_seed(run: Run) -> None:
    """Nobody can tell that from a querying party that denies which seed it got."""
    batch = run.batch()
    run.submit(batch)
    batch.seeds["c"] = secrets.token_bytes(32)
    assert batch.verify() == ["c"]
    run.register()
    assert run.found() == [("c", EITHER)]


def test_a_party_that_says_nothing_stays_refused_and_unproved(run: Run) -> None:
    """As one does that knows nothing of attestations, or was restarted."""
    batch = refused_batch(run)
    assert run.asked("c") == run.asked("c") == [batch.session]
    assert run.found() == []


def test_a_restarted_party_says_nothing(run: Run, tmp_path: Path) -> None:
    refused_batch(run)
    with (
        Journal(tmp_path / "again.db") as journal,
        closing(link_of("c", run.federation, run.calls, journal)) as again,
    ):
        run.links["c"] = again
        assert run.register("c") == []
    assert run.found() == []


def test_refusals_of_a_querying_party_that_signed_no_point_stay_unproved(run: Run) -> None:
    """As of one that knows nothing of attestations."""
    batch = run.batch()
    stuffs(batch)
    run.submit(batch)
    told = replace(batch.verification(), evaluation=None)
    assert list(run.calls.query.VerifyBallots(told.messages()).refused) == ["c"]
    assert run.asked("c") == []
    assert run.register() == []


def test_a_querying_party_signs_the_point_that_it_sends(run: Run) -> None:
    """Else it could keep parties from attesting, and point at them."""
    batch = run.batch()
    run.submit(batch)
    told = batch.verification()
    others = [
        replace(told, point_seed=bytes([1]) * 32),
        replace(told, session_id="x"),
        replace(told, batch_id=2),
    ]
    others = [replace(told, evaluation=batch.signed(other).evaluation) for other in others]
    others.append(told.sign(run.calls.credentials("other", Role.QUERY)))
    others.append(told.sign(run.calls.credentials("a", Role.PARTY)))
    for other in others:
        assert refusal(lambda: run.calls.query.VerifyBallots(other.messages())) in (  # noqa: B023
            "message.invalid",
            "identity.wrong_role",
        )
    assert batch.verify() == []


UNKNOWN = b"\xfa\x01\x04blob"
"""A field of number 31."""


def test_nothing_is_kept_that_is_no_part_of_a_message(run: Run) -> None:
    """Else either side could fill the audit log."""
    batch = run.batch()
    stuffs(batch)
    run.submit(batch)
    querier, told = run.calls.credentials("q", Role.QUERY), batch.verification()
    assert told.evaluation is not None
    padded = querier.sign(EVALUATION_CONTEXT, told.evaluation.payload + UNKNOWN)
    other = replace(told, evaluation=padded)
    assert refusal(lambda: run.calls.query.VerifyBallots(other.messages())) == "message.invalid"
    padded = common_pb2.Signed.FromString(told.evaluation.SerializeToString() + UNKNOWN)
    other = replace(told, evaluation=padded)
    assert list(run.calls.query.VerifyBallots(other.messages()).refused) == ["c"]
    signer, true = run.calls.credentials("c", Role.PARTY), attestation(batch, "c").SerializeToString()
    stub = run.calls.stub("c", Role.PARTY)
    request = guardian_pb2.AttestBallotsRequest(attestation=signer.sign(ATTESTATION_CONTEXT, true + UNKNOWN))
    assert refusal(lambda: stub.AttestBallots(request)) == "message.invalid"
    signed = signer.sign(ATTESTATION_CONTEXT, true).SerializeToString()
    request = guardian_pb2.AttestBallotsRequest(attestation=common_pb2.Signed.FromString(signed + UNKNOWN))
    assert stub.AttestBallots(request).party_lied
    (row,) = run.rows()
    assert UNKNOWN.hex() not in row["evaluation"] + row["attestation"]


def test_a_retry_changes_nothing_and_another_attestation_is_refused(run: Run) -> None:
    batch = refused_batch(run)
    true = attestation(batch, "c")
    assert run.attest("c", true)
    assert run.attest("c", true)
    assert refusal(lambda: run.attest("c", attestation(batch, "c", sha256=bytes(32)))) == "batch.altered"
    assert run.found() == [("c", PARTY)]


def test_only_the_party_itself_attests_in_its_own_words(run: Run) -> None:
    batch = refused_batch(run)
    true = attestation(batch, "c")
    assert refusal(lambda: run.attest("c", true, signer="a")) == "message.invalid"
    assert refusal(lambda: run.attest("a", true)) == "batch.out_of_order"
    assert refusal(lambda: run.attest("c", attestation(batch, "c", batch_id=2))) == "batch.out_of_order"
    assert refusal(lambda: run.attest("c", attestation(batch, "c", sha256=bytes(31)))) == "message.invalid"
    other = run.federation.credentials["c", Role.PARTY].sign(MANIFEST_CONTEXT, true.SerializeToString())
    request = guardian_pb2.AttestBallotsRequest(attestation=other)
    stub = run.calls.stub("c", Role.PARTY)
    assert refusal(lambda: stub.AttestBallots(request)) == "message.invalid"
    assert run.found() == []


def test_a_party_is_asked_again_while_the_ledger_is_away(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    refused_batch(run)
    with monkeypatch.context() as away:
        away.setattr(refused_ballots, "record_attestation", ledger_away)
        assert [log["code"] for log in run.register("c")] == ["ledger.locked"]
    run.register("c")
    assert run.found() == [("c", PARTY)]


def test_attestations_outlive_a_closed_session_and_not_its_end(run: Run) -> None:
    batch = refused_batch(run)
    run.calls.query.CloseSession(guardian_pb2.CloseSessionRequest(session_id=batch.session))
    run.register("c")
    assert run.found() == [("c", PARTY)]
    assert run.attest("c", attestation(batch, "c")), "kept for retries"
    later = refused_batch(run)
    assert isinstance(run.federation.clock, ManualClock)
    run.federation.clock.advance(2 * 86_400)
    assert run.asked("c") == []
    assert refusal(lambda: run.attest("c", attestation(later, "c"))) == "batch.out_of_order"


def test_a_registered_party_is_told_of_no_more_than_the_protocol_allows() -> None:
    reply = guardian_pb2.RegisterReply(refused=[common_pb2.Signed()] * MAX_ASKED)
    check_limits(reply)
    reply.refused.append(common_pb2.Signed())
    with pytest.raises(OstrakaError) as refused:
        check_limits(reply)
    assert refused.value.code == "message.too_large"


@pytest.mark.heavy
def test_a_party_is_asked_about_its_latest_batches(run: Run) -> None:
    batches = [refused_batch(run) for _ in range(MAX_ASKED + 1)]
    assert run.asked("c") == [batch.session for batch in batches[1:]]
    assert refusal(lambda: run.attest("c", attestation(batches[0], "c"))) == "batch.out_of_order"
    run.register("c")
    assert run.found() == [("c", PARTY)] * MAX_ASKED
