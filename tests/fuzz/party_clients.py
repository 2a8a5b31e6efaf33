"""The calls of an answering party to its guardian, which may lie."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from ostraka.common.clock import SystemClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials, Identity, verify_signed
from ostraka.common.plan.plan import Plan
from ostraka.common.plan.schedules import read_schedule
from ostraka.common.sharing.shares import SEED_BYTES
from ostraka.common.verified.parts import context_of, parts_of
from ostraka.common.verified.prover import Prover
from ostraka.common.wire.contexts import AUDIT_CONTEXT
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2
from ostraka.services.journal.journal import Journal
from ostraka.services.voting.submission import GuardianLink, GuardianShare
from tests.fuzz.clients import ATTEMPTS, GUARDIAN, WHOLE, Client, Sessions, Waits, in_form_of, share_of
from tests.fuzz.methods import answered_by
from tests.fuzz.recording import Exchange, Recorder

REGISTER, RECONCILE, SUBMIT_BALLOTS, SUBMIT_PROOF, RECORD_EVALUATION = (
    f"{GUARDIAN}{name}"
    for name in ("Register", "Reconcile", "SubmitBallots", "SubmitProof", "RecordEvaluation")
)
CHALLENGE = bytes(range(SEED_BYTES))


class ForgetfulJournal(Journal):
    """A journal whose audit heads can be forgotten, as in a new file."""

    def forget(self) -> None:
        """Forget every head."""
        with self._file.transaction() as db:
            db.execute("DELETE FROM audit_head")
            db.execute("DELETE FROM former_heads")


class PartyClients:
    """A party's link to its guardian; the head kept from one call is deleted before the next."""

    def __init__(
        self, recorder: Recorder, own: Credentials, guardian: tuple[str, Identity], waits: Waits, folder: Path
    ) -> None:
        """Take the recordings, the party's credentials, the guardian's address, and a folder for journals."""
        self._recorder = recorder
        # Revocation lists of other members do not reach this folder.
        self._own = replace(own, lists=(folder,))
        self._guardian = guardian
        self._sessions = Sessions(recorder)
        self._journal = ForgetfulJournal(folder / "journal.db")
        self._link = GuardianLink(
            self._own, *guardian, self._journal, SystemClock(), attempts=ATTEMPTS, sleep=waits.sleep
        )
        self._newest = self._known_revocations()

    def _known_revocations(self) -> int:
        """Apply the lists that the guardian really sent, and return the number of the newest."""
        for exchange in self._recorder.exchanges[REGISTER]:
            newer = guardian_pb2.RegisterReply.FromString(exchange.replies[0]).revocations
            if newer:
                self._own.revocations.accept(newer)
        return self._own.revocations.number

    def clients(self) -> Iterator[Client]:
        """Yield a client for every call that was recorded."""
        reconciled = self._recorder.exchanges[RECONCILE]
        for exchange in self._recorder.exchanges[REGISTER]:
            signed = guardian_pb2.RegisterRequest.FromString(exchange.requests[0]).manifest
            manifest = common_pb2.Manifest.FromString(signed.payload)
            register = partial(_register, manifest)
            beside = {RECONCILE: reconciled[0].replies} if reconciled else {}
            yield self._client(exchange, register, beside)
            restored = guardian_pb2.RegisterReply.FromString(exchange.replies[0])
            restored.reconcile = True
            beside = {REGISTER: (restored.SerializeToString(),)}
            for one in reconciled:
                yield self._client(one, register, beside)
        for form in ("", WHOLE):
            for exchange in self._recorder.exchanges[SUBMIT_BALLOTS + form]:
                yield from self._submitting(exchange, SUBMIT_PROOF + form)
        for exchange in self._recorder.exchanges[RECORD_EVALUATION]:
            asked = guardian_pb2.RecordEvaluationRequest.FromString(exchange.requests[0])
            key = asked.session_id, asked.batch_id
            yield self._client(exchange, partial(_record_evaluation, key))

    def _submitting(self, exchange: Exchange, answering: str) -> Iterator[Client]:
        """Yield a client that submits a share, and one that answers its challenge by the named call."""
        header, data = share_of(exchange)
        key = header.session_id, header.batch_id
        shape = header.rows, header.width
        session = self._sessions.by_id.get(key[0])
        if not header.commitment or session is None or key not in self._sessions.tickets:
            share = GuardianShare(*key, *shape, data)
            yield self._client(exchange, lambda link: link.submit(share))
            return
        proofs = self._recorder.exchanges[answering]
        reply = guardian_pb2.SubmitBallotsReply.FromString(exchange.replies[0])
        reply.challenge = CHALLENGE
        asked = Exchange(exchange.path, exchange.sender, exchange.requests, (reply.SerializeToString(),))

        def submit(link: GuardianLink, prover: Prover) -> None:
            link.submit(GuardianShare(*key, *shape, prover.guardian_share, prover))

        # A prover answers only one challenge; a lie in the proof's reply follows the same challenge.
        challenged = self._prover(session.plan, key)
        beside = {answering: proofs[0].replies} if proofs else {}
        yield self._client(asked, lambda link: submit(link, self._prover(session.plan, key)), beside)
        for one in proofs[:1]:
            yield self._client(one, lambda link: submit(link, challenged), {asked.path: asked.replies})

    def _prover(self, plan: Plan, key: tuple[str, int]) -> Prover:
        """Return a prover that shows that every teacher voted for the first class."""
        ticket = self._sessions.ticket(*key)
        entry = next(one for one in ticket.schedule if one.participant.site == self._own.identity.site)
        parts = parts_of(plan, entry.participant, read_schedule(entry, ticket.size))
        votes = np.zeros((ticket.size, plan.mechanism.width(plan.classes)))
        counts = []
        for part in parts:
            votes[:, 0] = part.layout.statement.total or 0
            counts.append(part.counts(votes))
        layouts = [part.layout for part in parts]
        seeds = (bytes([number]) * SEED_BYTES for number in (1, 2))
        return Prover(layouts, counts, context_of(*key, self._own.identity.site), *seeds)

    def _client(
        self,
        exchange: Exchange,
        call: Callable[[GuardianLink], None],
        beside: Mapping[str, tuple[bytes, ...]] | None = None,
    ) -> Client:
        name = exchange.path.rpartition("/")[2]
        answered = answered_by(exchange.path)
        return Client(
            name,
            answered,
            "guardian",
            exchange.replies,
            lambda: in_form_of(exchange, lambda: self._kept(call)),
            self._wrong,
            beside=beside or {},
        )

    def _kept(self, call: Callable[[GuardianLink], None]) -> common_pb2.AuditHead | None:
        """Make a call, return the head that is kept after it, and forget it."""
        try:
            call(self._link)
        finally:
            kept = self._journal.audit_head()
            if kept is not None:
                self._journal.forget()
        return kept

    def _wrong(self, _: Sequence[bytes], kept: common_pb2.AuditHead | None) -> str | None:
        if self._own.revocations.number > self._newest:
            return f"revocation list {self._own.revocations.number} was put into force"
        if kept is None:
            return None
        try:
            verify_signed(
                kept.signed,
                AUDIT_CONTEXT,
                ca_pem=self._own.ca_pem,
                clock=SystemClock(),
                federation=self._guardian[1].federation,
                role=self._guardian[1].role,
                invalid=ErrorCode.LEDGER_TAMPERED,
            )
        except OstrakaError as error:
            return f"an audit head was kept that nobody signed: {error.message}"
        same = kept.signed.payload == kept.sequence.to_bytes(8, "big") + kept.hash
        return None if same else "an audit head was kept that is not what was signed"

    def close(self) -> None:
        """Close link and journal."""
        self._link.close()
        self._journal.close()


def _register(manifest: common_pb2.Manifest, link: GuardianLink) -> None:
    link.register(manifest)


def _record_evaluation(key: tuple[str, int], link: GuardianLink) -> None:
    link.record_evaluation(*key)
