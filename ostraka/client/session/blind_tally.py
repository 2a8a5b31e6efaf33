"""A blind tally: first the check, which both sites learn, then the answers that passed, for this side
only."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostraka.client.peers.guardian_peer import GuardianPeer
from ostraka.client.peers.retry import StepCall
from ostraka.client.session.answers import Answer, answers_from
from ostraka.client.session.batch import Granted, Queries
from ostraka.client.session.meter import Meter
from ostraka.common.crypto.circuit import Circuit
from ostraka.common.crypto.tally_circuits import answers_of, check_of, labels_of, querying_words
from ostraka.common.crypto.transcripts import tally_binding
from ostraka.common.crypto.two_party import CircuitEvaluation, Computation
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.plan.choices import BASE_TRANSFERS
from ostraka.common.rpc.steps import StepId
from ostraka.common.sharing.ring import RingArray
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2


@dataclass(frozen=True)
class Stages:
    """Evaluates circuits with the guardian, and measures it; `random(n)` returns n random bytes."""

    guardian: GuardianPeer
    meter: Meter
    random: Callable[[int], bytes]
    base_transfers: BASE_TRANSFERS

    def compute(self, step: StepId, circuit: Circuit, words: NDArray[np.uint64]) -> CircuitEvaluation:
        """Return the evaluated circuits for this side's words (instances, words), with at least one instance.

        Raises OstrakaError with the guardian's code, or `message.invalid` or `crypto.refused` for messages
        that do not fit this stage.
        """
        binding = tally_binding(step.session_id, step.batch_id, step.stage)
        computation = Computation.of(circuit, len(words), self.base_transfers)
        evaluation = CircuitEvaluation(computation, binding, self.random)
        points = self._begin(step, evaluation.point())
        sizes = computation.sizes
        self._garble(StepCall(step, evaluation.extension(points), sizes.tables, evaluation.take))
        labels = bytearray()
        self._compare(StepCall(step, evaluation.correction(words), sizes.labels, labels.extend))
        with self.meter.measure("none", "tally"):
            evaluation.evaluate(bytes(labels))
        return evaluation

    def open_check(self, step: StepId, evaluation: CircuitEvaluation) -> bytes:
        """Send the check's output labels back; return which checks passed, as the guardian decoded them."""
        with self.meter.measure("guardian", "open") as traffic:
            returned = evaluation.labels_to_return()
            traffic.sent += len(returned)
            passed = self.guardian.open_check(step, returned)
            traffic.received += len(passed)
        return passed

    def release_nothing(self, step: StepId) -> None:
        """Release a batch in which no check passed, so there is nothing to compute."""
        self._begin(step, b"")

    def _begin(self, step: StepId, point: bytes) -> bytes:
        request = guardian_pb2.BeginTallyRequest(
            session_id=step.session_id, batch_id=step.batch_id, stage=step.stage, point=point
        )
        with self.meter.measure("guardian", "begin") as traffic:
            points = self.guardian.begin_tally(request)
            traffic.sent += len(point)
            traffic.received += len(points)
        return points

    def _garble(self, call: StepCall) -> None:
        with self.meter.measure("guardian", "garble") as traffic:
            self.guardian.garble_tally(call)
            traffic.sent += len(call.data)
            traffic.received += call.size

    def _compare(self, call: StepCall) -> None:
        with self.meter.measure("guardian", "compare") as traffic:
            self.guardian.compare_tally(call)
            traffic.sent += len(call.data)
            traffic.received += call.size


class BlindBatchTally:
    """Tallies batches of a session blindly, with the guardian."""

    def __init__(
        self,
        guardian: GuardianPeer,
        session: Granted,
        meter: Meter,
        random: Callable[[int], bytes],
    ) -> None:
        """Take an open session; `random(n)` returns n random bytes."""
        plan = session.plan
        self._stages = Stages(guardian, meter, random, plan.base_transfers)
        self._meter = meter
        self._session_id = session.grant.session_id
        self._plan = plan
        self._check = check_of(plan.mechanism, plan.classes, plan.modulus)
        self._answers = answers_of(plan.mechanism, plan.classes, plan.modulus)

    def answers(self, batch_id: int, total: RingArray, queries: Queries) -> list[Answer]:
        """Return the answers of a frozen batch; `total` is this side's share: residues (queries, width)."""
        self._meter.begin("tally", 1 if self._check is None else 2)
        width = self._plan.mechanism.answers(self._plan.classes)
        passed = self._find_passing(batch_id, total, len(queries) * width)
        labels = self._labels(batch_id, total, passed)
        self._meter.advance("tally")
        shape = (len(queries), width)
        return answers_from(labels.reshape(shape), passed.reshape(shape), self._plan)

    def _find_passing(self, batch_id: int, sums: RingArray, checks: int) -> NDArray[np.bool_]:
        """Return which checks passed, (checks,); all of them if the mechanism has no check."""
        if self._check is None:
            return np.ones(checks, np.bool_)
        step = StepId(self._session_id, batch_id, common_pb2.STAGE_CHECK)
        evaluation = self._stages.compute(step, self._check, querying_words(sums, self._check))
        passed = evaluation.bits()[:, 0]
        if self._stages.open_check(step, evaluation) != np.packbits(passed).tobytes():
            raise OstrakaError(
                ErrorCode.MESSAGE_INVALID,
                "The guardian opened other checks than passed here: use the same version everywhere.",
            )
        self._meter.advance("tally")
        return passed

    def _labels(self, batch_id: int, sums: RingArray, passed: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the label of every check that passed, (checks,); 0 for the others."""
        labels = np.zeros(len(passed), np.int64)
        step = StepId(self._session_id, batch_id, common_pb2.STAGE_ANSWERS)
        words = querying_words(sums, self._answers)[passed]
        if not len(words):
            self._stages.release_nothing(step)
            return labels
        labels[passed] = labels_of(self._stages.compute(step, self._answers, words).bits())
        if (labels >= (2 if self._plan.multi_label else self._plan.classes)).any():
            raise OstrakaError(
                ErrorCode.MESSAGE_INVALID,
                "The guardian's circuits answered with a class that the task has not: "
                "use the same version everywhere.",
            )
        return labels
