"""Blind tallies of frozen batches: steps in order, each stage charged before its tables leave.

The check's cost is charged when its tables are requested. The cost of the answers is charged when theirs are
requested, in the ledger's release of the batch: it stores which answers were given, never the answers. A
charge is final; a charge without a result is lost with the batch.
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostraka.common.clock import Clock
from ostraka.common.crypto.computation import Sizes
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Identity
from ostraka.common.rpc.steps import StepId
from ostraka.guardian.blind.blind_tally import BlindTally, Stage
from ostraka.guardian.ledger import Charge, Ledger
from ostraka.guardian.ledger.sessions import endings, releases
from ostraka.guardian.ledger.units import balances
from ostraka.guardian.sessions.batch import Batch, Tallied
from ostraka.guardian.sessions.outcome import encode_answered
from ostraka.guardian.sessions.payers import payers, worst_charges
from ostraka.guardian.sessions.registry import OpenBatches, Session, load_session_of
from ostraka.protos.ostraka.v1 import common_pb2

STAGES = frozenset({common_pb2.STAGE_CHECK, common_pb2.STAGE_ANSWERS})


@dataclass(frozen=True)
class BlindStep:
    """A step of a blind tally with its session: what a call loads once and then uses."""

    session: Session
    id: StepId


@dataclass(frozen=True)
class _Tallied:
    """A step of a batch with its session, while the batch is held for the step."""

    session: Session
    batch: Batch
    state: Tallied
    stage: common_pb2.Stage

    @property
    def tally(self) -> BlindTally:
        """The batch's blind tally."""
        return self.state.tally

    @property
    def key(self) -> tuple[str, int]:
        """Session and batch id."""
        return self.session.session_id, self.batch.ticket.batch_id


class BlindTallies:
    """The guardian's side of every blind tally of one process."""

    def __init__(self, ledger: Ledger, batches: OpenBatches, clock: Clock) -> None:
        self._ledger = ledger
        self._batches = batches
        self._clock = clock

    def step(self, querier: Identity, step: StepId) -> BlindStep:
        """Return the step that `querier` may take, before more than its header is read.

        Raises:
            OstrakaError: `session.*`; `batch.out_of_order` if the tally is not blind, `message.invalid` if it
                has no such stage.
        """
        session = load_session_of(self._ledger, querier, step.session_id)
        if session.plan.tally != "blind":
            raise _not_blind()
        if step.stage not in STAGES:
            raise _no_stage(step.stage)
        return BlindStep(session, step)

    def begin(self, step: BlindStep, point: bytes) -> bytes:
        """Return the base transfers' reply; empty if no query passed, and the batch is released unanswered.

        Raises:
            OstrakaError: `session.*`, `batch.dead`, `batch.not_frozen`, `batch.out_of_order`,
                `batch.altered`, `crypto.refused`, `message.invalid`.
        """
        with self._open(step) as tallied:
            tallied.session.check_open(self._clock.now())
            if tallied.stage == common_pb2.STAGE_ANSWERS and not tallied.tally.may_answer().any():
                self._release(tallied, hashlib.sha256(point).digest())
                return b""
            return tallied.tally.begin(tallied.stage).points(point)

    def sizes(self, step: BlindStep) -> Sizes:
        """Bytes of the messages of a stage that has begun; raises as `begin`."""
        with self._open(step) as tallied:
            return tallied.tally.stage(tallied.stage).sizes

    def garble(self, step: BlindStep, extension: bytes) -> Iterator[bytes]:
        """Return the garbled circuits of a stage that is now charged; raises as `begin`."""
        with self._open(step) as tallied:
            stage = tallied.tally.stage(tallied.stage)
            self._charge(tallied, stage, stage.accept(extension))
            return stage.tables()

    def compare(self, step: BlindStep, correction: bytes) -> bytes:
        """Labels of the guardian's words; raises as `begin`."""
        with self._open(step) as tallied:
            return tallied.tally.stage(tallied.stage).labels(correction)

    def open_check(self, step: BlindStep, returned: bytes) -> NDArray[np.bool_]:
        """Which answers passed, bool (queries, answers); raises as `begin`."""
        with self._open(step) as tallied:
            if tallied.stage != common_pb2.STAGE_CHECK:
                raise _no_stage(tallied.stage)
            return tallied.tally.open_check(returned)

    def _charge(self, tallied: _Tallied, stage: Stage, digest: bytes) -> None:
        """Commit a stage's cost, once, before anything of it leaves."""
        if stage.charged:
            return
        tallied.session.check_open(self._clock.now())
        session_id, batch_id = tallied.key
        if tallied.stage == common_pb2.STAGE_CHECK:
            nothing = np.zeros((tallied.batch.ticket.size, 1), dtype=np.bool_)
            costs = self._costs(tallied, nothing)
            self._ledger.write_session(session_id, releases.check, batch_id, digest, costs)
        else:
            self._release(tallied, digest)
        stage.charged = True

    def _release(self, tallied: _Tallied, digest: bytes) -> None:
        passed = tallied.tally.may_answer()
        session_id, batch_id = tallied.key
        self._ledger.write_session(
            session_id,
            releases.release,
            batch_id,
            digest,
            encode_answered(passed, tallied.session.plan),
            self._costs(tallied, passed),
            answered=int(passed.any(axis=1).sum()),
        )
        self._batches.keep_released(*tallied.key)

    def _costs(self, tallied: _Tallied, answered: NDArray[np.bool_]) -> Sequence[Charge]:
        plan = tallied.session.plan
        batch = tallied.batch
        attendance = batch.attendance.of(tallied.state.parties)
        budgets = self._ledger.read(balances.find_budgets, batch.units)
        return worst_charges(plan, payers(plan, attendance, budgets), answered)

    @contextmanager
    def _open(self, step: BlindStep) -> Iterator[_Tallied]:
        """Hold a batch for a step; forged transfers or labels make it dead from then on."""
        session = step.session
        session_id = step.id.session_id
        batch_id = step.id.batch_id
        batch = self._batches.require(session_id, batch_id)
        with self._batches.forgetting(session_id, batch_id), batch.tallying() as state:
            # It may have been forgotten while this call waited for another call's step.
            self._batches.require(session_id, batch_id, batch)
            try:
                yield _Tallied(session, batch, state, step.id.stage)
            except OstrakaError as exc:
                if exc.code is ErrorCode.CRYPTO_REFUSED:
                    self._batches.drop(session_id, batch_id)
                    self._ledger.write_session(session_id, endings.settle, batch_id)
                raise


def _not_blind() -> OstrakaError:
    return OstrakaError(
        ErrorCode.BATCH_OUT_OF_ORDER,
        "This session's tally is aggregate; send a batch's sum with Release.",
    )


def _no_stage(stage: common_pb2.Stage) -> OstrakaError:
    return OstrakaError(
        ErrorCode.MESSAGE_INVALID,
        f"This step of a tally has no stage {stage}; name the check or the answers, as the protocol says.",
    )
