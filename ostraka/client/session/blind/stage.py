"""One stage of a blind tally, computed with the guardian: the check, or the answers."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostraka.client.peers.guardian_peer import GuardianPeer
from ostraka.client.peers.step_calls import StepCall
from ostraka.client.session.meter import Meter
from ostraka.common.crypto.circuit import Circuit
from ostraka.common.crypto.confidential import tally_binding
from ostraka.common.crypto.two_party import CircuitEvaluation, Computation
from ostraka.common.rpc.steps import StepId
from ostraka.protos.ostraka.v1 import guardian_pb2


@dataclass(frozen=True)
class Stages:
    """Computes stages with the guardian, measured; `random` gives so many random bytes."""

    guardian: GuardianPeer
    meter: Meter
    random: Callable[[int], bytes]

    def compute(self, step: StepId, circuit: Circuit, words: NDArray[np.uint64]) -> CircuitEvaluation:
        """Return the evaluated circuits for this side's words (instances, words), at least one instance.

        Raises OstrakaError with the guardian's code, `message.invalid` or `crypto.refused` for messages that
        are none of this stage.
        """
        binding = tally_binding(step.session_id, step.batch_id, step.stage)
        computation = Computation.of(circuit, len(words))
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
        """Send the check's output labels back; which checks passed, as the guardian read them."""
        with self.meter.measure("guardian", "open") as traffic:
            returned = evaluation.returned()
            traffic.sent += len(returned)
            passed = self.guardian.open_check(step, returned)
            traffic.received += len(passed)
        return passed

    def release_nothing(self, step: StepId) -> None:
        """Have a batch released in which no check passed, so that there is nothing to compute."""
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
