"""Blind tallies of frozen batches: steps in their order, each stage charged before its tables leave.

The check's cost is charged when its tables are asked for, the answers' when theirs are, in the ledger's
release of the batch: it stores which answers were given, and never what they were. Once charged, a charge
stands; what was charged for nothing is lost with the batch.
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
from ostraka.guardian.blind.blind_tally import BlindTally
from ostraka.guardian.blind.stage import Stage
from ostraka.guardian.ledger import Charge, Ledger
from ostraka.guardian.sessions.batch import Batch
from ostraka.guardian.sessions.outcome import encode_answered
from ostraka.guardian.sessions.payers import payers
from ostraka.guardian.sessions.registry import OpenBatches, Session, load_session_of
from ostraka.guardian.sessions.worst_case_charges import worst_charges
from ostraka.protos.ostraka.v1 import common_pb2

STAGES = frozenset({common_pb2.STAGE_CHECK, common_pb2.STAGE_ANSWERS})


@dataclass(frozen=True)
class _Tallied:
    """A batch with its session, while its lock is held."""

    session: Session
    batch: Batch
    tally: BlindTally
    stage: common_pb2.Stage

    @property
    def key(self) -> tuple[str, int]:
        """Session and batch id."""
        return self.session.session_id, self.batch.ticket.batch_id


class BlindTallies:
    """The guardian's side of every blind tally of one process."""

    def __init__(self, ledger: Ledger, batches: OpenBatches, clock: Clock) -> None:
        """Take the ledger that is charged, and the batches that this process holds."""
        self._ledger = ledger
        self._batches = batches
        self._clock = clock

    def begin(self, querier: Identity, step: StepId, point: bytes) -> bytes:
        """Return the base transfers' reply; empty if no query passed: the batch is released without answers.

        Raises:
            OstrakaError: `session.*`, `batch.dead`, `batch.not_frozen`, `batch.out_of_order`,
                `batch.altered`, `crypto.refused`, `message.invalid`.
        """
        with self._open(querier, step) as tallied:
            tallied.session.check_open(self._clock.now())
            if tallied.stage == common_pb2.STAGE_ANSWERS and not tallied.tally.may_answer().any():
                self._release(tallied, hashlib.sha256(point).digest())
                return b""
            return tallied.tally.begin(tallied.stage).points(point)

    def sizes(self, querier: Identity, step: StepId) -> Sizes:
        """Bytes of the messages of a stage that has begun; raises as `begin`."""
        with self._open(querier, step) as tallied:
            return tallied.tally.stage(tallied.stage).sizes

    def garble(self, querier: Identity, step: StepId, extension: bytes) -> Iterator[bytes]:
        """Return the garbled circuits of a stage, which is charged by now; raises as `begin`."""
        with self._open(querier, step) as tallied:
            stage = tallied.tally.stage(tallied.stage)
            self._charge(tallied, stage, stage.accept(extension))
            return stage.tables()

    def compare(self, querier: Identity, step: StepId, correction: bytes) -> bytes:
        """Labels of the guardian's words; raises as `begin`."""
        with self._open(querier, step) as tallied:
            return tallied.tally.stage(tallied.stage).labels(correction)

    def open_check(self, querier: Identity, step: StepId, returned: bytes) -> NDArray[np.bool_]:
        """Which answers passed, bool (queries, answers); raises as `begin`."""
        with self._open(querier, step) as tallied:
            if tallied.stage != common_pb2.STAGE_CHECK:
                raise _no_stage(step.stage)
            return tallied.tally.open_check(returned)

    def _charge(self, tallied: _Tallied, stage: Stage, digest: bytes) -> None:
        """Commit what a stage costs, once; nothing of it has left yet."""
        if stage.charged:
            return
        tallied.session.check_open(self._clock.now())
        if tallied.stage == common_pb2.STAGE_CHECK:
            nothing = np.zeros((tallied.batch.ticket.size, 1), dtype=np.bool_)
            self._ledger.charge_check(*tallied.key, digest, self._costs(tallied, nothing))
        else:
            self._release(tallied, digest)
        stage.charged = True

    def _release(self, tallied: _Tallied, digest: bytes) -> None:
        passed = tallied.tally.may_answer()
        self._ledger.release(
            *tallied.key,
            digest,
            encode_answered(passed, tallied.session.plan),
            self._costs(tallied, passed),
            answered=int(passed.any(axis=1).sum()),
        )
        self._batches.released(*tallied.key)

    def _costs(self, tallied: _Tallied, answered: NDArray[np.bool_]) -> Sequence[Charge]:
        plan, batch = tallied.session.plan, tallied.batch
        attendance = batch.attendance.of(batch.frozen or ())
        return worst_charges(plan, payers(plan, attendance, self._ledger.find_budgets(batch.units)), answered)

    @contextmanager
    def _open(self, querier: Identity, step: StepId) -> Iterator[_Tallied]:
        """Yield a batch under its lock; one whose transfers or labels are forged is dead from then on."""
        session = load_session_of(self._ledger, querier, step.session_id)
        if session.plan.tally != "blind":
            raise _not_blind()
        if step.stage not in STAGES:
            raise _no_stage(step.stage)
        batch = self._batches.require(step.session_id, step.batch_id)
        with self._batches.forgetting(step.session_id, step.batch_id), batch.lock:
            self._batches.require(step.session_id, step.batch_id, batch)
            try:
                yield _Tallied(session, batch, batch.blind_tally(session.plan), step.stage)
            except OstrakaError as exc:
                if exc.code is ErrorCode.CRYPTO_REFUSED:
                    self._batches.drop(step.session_id, step.batch_id)
                    self._ledger.settle(step.session_id, step.batch_id)
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
