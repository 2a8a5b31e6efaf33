"""A querying party's side of a blind tally, over the real service."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.circuit import Circuit
from ostraka.common.crypto.tally_circuits import answers_of, check_of, labels_of, querying_words
from ostraka.common.crypto.transcripts import tally_binding
from ostraka.common.crypto.two_party import CircuitEvaluation, Computation
from ostraka.common.plan.plan import Plan
from ostraka.common.rpc.steps import StepId, request_messages
from ostraka.common.sharing.ring import Ring, RingArray
from ostraka.guardian.noise import ExactNoise, NoiseSource
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2
from tests.guardian.federation import Calls
from tests.guardian.federation import plan as any_plan

RING = Ring(32)
T = TypeVar("T")
CHECK, ANSWERS = common_pb2.STAGE_CHECK, common_pb2.STAGE_ANSWERS


def blind_plan(**changes: object) -> Plan:
    """Return a Confident plan over three parties, tallied blindly."""
    return any_plan(**{"tally": "blind", "ring_bits": 32} | changes)


@dataclass
class Querying:
    """Sends the messages of one batch's stages, one by one or a stage at a time.

    Attributes:
        sums: this party's half of the histogram, (queries, width).
        evaluations: evaluations of the stages that began.
    """

    guardian: Calls
    plan: Plan
    session: str
    batch: int
    sums: RingArray
    evaluations: dict[int, CircuitEvaluation] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return len(self.sums)

    def circuit(self, stage: common_pb2.Stage) -> Circuit:
        found = check_of if stage == CHECK else answers_of
        circuit = found(self.plan.mechanism, self.plan.classes, self.plan.modulus)
        assert circuit is not None
        return circuit

    def words(self, stage: common_pb2.Stage, passed: NDArray[np.bool_] | None = None) -> NDArray[np.uint64]:
        words = querying_words(self.sums, self.circuit(stage))
        return words if passed is None else words[passed.reshape(-1)]

    def begin(self, stage: common_pb2.Stage, point: bytes) -> bytes:
        request = guardian_pb2.BeginTallyRequest(
            session_id=self.session, batch_id=self.batch, stage=stage, point=point
        )
        return self.guardian.query.BeginTally(request).points

    def garble(self, stage: common_pb2.Stage, extension: bytes) -> bytes:
        return self._joined(self.guardian.query.GarbleTally(self._messages(stage, extension)))

    def compare(self, stage: common_pb2.Stage, correction: bytes) -> bytes:
        return self._joined(self.guardian.query.CompareTally(self._messages(stage, correction)))

    def open_check(self, returned: bytes) -> NDArray[np.bool_]:
        reply = self.guardian.query.OpenCheck(self._messages(CHECK, returned))
        answers = self.plan.mechanism.answers(self.plan.classes)
        bits = np.unpackbits(np.frombuffer(reply.passed, np.uint8), count=self.size * answers)
        return bits.astype(np.bool_).reshape(self.size, answers)

    def evaluate(self, stage: common_pb2.Stage, words: NDArray[np.uint64]) -> CircuitEvaluation:
        """Run a stage from BeginTally to CompareTally."""
        evaluation = self.begun(stage, len(words))
        evaluation.take(self.garble(stage, self.extension(stage, len(words))))
        evaluation.evaluate(self.compare(stage, evaluation.correction(words)))
        return evaluation

    def begun(self, stage: common_pb2.Stage, instances: int) -> CircuitEvaluation:
        binding = tally_binding(self.session, self.batch, stage)
        computation = Computation.of(self.circuit(stage), instances, self.plan.base_transfers)
        return self.evaluations.setdefault(stage, CircuitEvaluation(computation, binding))

    def extension(self, stage: common_pb2.Stage, instances: int) -> bytes:
        """Return the input of GarbleTally, after BeginTally."""
        evaluation = self.begun(stage, instances)
        return evaluation.extension(self.begin(stage, evaluation.point()))

    def check(self) -> NDArray[np.bool_]:
        """Run the whole check: return which answers passed, bool (queries, answers), as both sides see it."""
        evaluation = self.evaluate(CHECK, self.words(CHECK))
        passed = self.open_check(evaluation.labels_to_return())
        assert (passed.reshape(-1) == evaluation.bits()[:, 0]).all()
        return passed

    def answers(self, passed: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
        """Return the labels of the answers that passed, in order."""
        return labels_of(self.evaluate(ANSWERS, self.words(ANSWERS, passed)).bits())

    def _messages(self, stage: common_pb2.Stage, data: bytes) -> Iterator[common_pb2.Step]:
        return request_messages(StepId(self.session, self.batch, stage), data)

    @staticmethod
    def _joined(reply: Iterator[common_pb2.Step]) -> bytes:
        size = next(reply).header.bytes
        data = b"".join(part.chunk.data for part in reply)
        assert len(data) == size
        return data


def asked(guardian: Calls, plan: Plan, votes: NDArray[np.integer[Any]], batch: int = 1) -> Querying:
    """Freeze a batch in which the three sites cast `votes` (sites, queries, width), ready for its tally."""
    session = guardian.open(plan).session_id
    guardian.ticket(session, batch, votes.shape[1])
    sums = guardian.vote(session, batch, votes, ring=RING)
    return Querying(guardian, plan, session, batch, sums)


class Recorded:
    """Real noise that can be replayed."""

    def __init__(self) -> None:
        self._source: NoiseSource = ExactNoise()
        self._drawn: dict[tuple[object, ...], list[Any]] = defaultdict(list)
        self._again = False

    def again(self) -> "Recorded":
        """From now on, replay the recorded draws in order."""
        self._again = True
        return self

    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        return self._of("gaussian", sigma, shape, lambda: self._source.gaussian(sigma, shape))

    def laplace(self, scale: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        return self._of("laplace", scale, shape, lambda: self._source.laplace(scale, shape))

    def uniform(self, shape: tuple[int, ...]) -> NDArray[np.uint64]:
        if self._again and ("uniform", 0, shape) not in self._drawn:
            return np.zeros(shape, dtype=np.uint64)
        return self._of("uniform", 0, shape, lambda: self._source.uniform(shape))

    def _of(self, kind: str, scale: float, shape: tuple[int, ...], draw: Callable[[], T]) -> T:
        drawn = self._drawn[kind, scale, shape]
        if self._again:
            played: T = drawn.pop(0)
            return played
        drawn.append(fresh := draw())
        return fresh
