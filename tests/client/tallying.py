"""A blind tally by a test's guardian: follows the protocol, without noise."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ostraka.common.crypto.circuit import Circuit
from ostraka.common.crypto.tally_circuits import answers_of, check_of
from ostraka.common.crypto.transcripts import tally_binding
from ostraka.common.crypto.two_party import Computation, Garbling
from ostraka.common.mechanism import Confident, GnMax
from ostraka.common.plan import plan as common_plan
from ostraka.common.rpc.steps import StepId, read_header, read_request, reply_messages
from ostraka.common.sharing.ballots import VOTE
from ostraka.common.sharing.ring import RingArray
from ostraka.guardian.blind.circuit_inputs import (
    confident_check,
    halve_differences,
    label_check,
    noisy_counts,
)
from ostraka.guardian.mechanisms.check import threshold_steps
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2
from ostraka.protos.ostraka.v1.guardian_pb2_grpc import GuardianServicer

Key = tuple[str, int]
CHECK, ANSWERS = common_pb2.STAGE_CHECK, common_pb2.STAGE_ANSWERS


@dataclass
class Stage:
    circuit: Circuit
    words: Any
    garbling: Garbling


@dataclass(kw_only=True)
class Tallying(GuardianServicer):
    """Hooks: `on_tally(call, stage)` raises refusals, `alter_tally(call, bytes)` changes replies."""

    votes: int = 12
    on_tally: Callable[[str, Any], None] = lambda *_: None
    alter_tally: Callable[[str, bytes], bytes] = lambda _, data: data
    stages: dict[tuple[Key, int], Stage] = field(default_factory=dict)
    passed: dict[Key, Any] = field(default_factory=dict)
    received: dict[str, list[bytes]] = field(default_factory=dict)

    def half_of(self, key: Key) -> tuple[common_plan.Plan, RingArray]:
        """Return the plan, and this side's half of the histogram."""
        raise NotImplementedError

    def released(self, key: Key, answered: Any) -> None:
        """Release the batch with these answers."""
        raise NotImplementedError

    def BeginTally(self, request: guardian_pb2.BeginTallyRequest, context: Any) -> Any:  # noqa: N802
        self.on_tally("BeginTally", request.stage)
        key = (request.session_id, request.batch_id)
        self._note("point", request.point)
        stage = self.stages.get((key, request.stage)) or self._stage(key, request.stage)
        if not len(stage.words):
            self.released(key, self.passed[key])
            return guardian_pb2.BeginTallyReply()
        points = self.alter_tally("BeginTally", stage.garbling.points(request.point))
        return guardian_pb2.BeginTallyReply(points=points)

    def GarbleTally(self, request_iterator: Iterator[Any], context: Any) -> Iterator[Any]:  # noqa: N802
        step, stage, extension = self._read("GarbleTally", request_iterator, "extension")
        stage.garbling.accept(extension)
        if step.stage == ANSWERS:
            self.released((step.session_id, step.batch_id), self.passed[step.session_id, step.batch_id])
        for message in self._reply("GarbleTally", step, b"".join(stage.garbling.tables())):
            yield message
            self.on_tally("tables", step.stage)

    def CompareTally(self, request_iterator: Iterator[Any], context: Any) -> Iterator[Any]:  # noqa: N802
        step, stage, correction = self._read("CompareTally", request_iterator, "correction")
        yield from self._reply("CompareTally", step, stage.garbling.labels(correction, stage.words))

    def OpenCheck(self, request_iterator: Iterator[Any], context: Any) -> Any:  # noqa: N802
        step, stage, returned = self._read("OpenCheck", request_iterator, "returned")
        passed = stage.garbling.open_outputs(returned)[:, 0]
        self.passed[step.session_id, step.batch_id] = passed
        return guardian_pb2.OpenCheckReply(
            passed=self.alter_tally("OpenCheck", np.packbits(passed).tobytes())
        )

    def _stage(self, key: Key, number: Any) -> Stage:
        plan, sums = self.half_of(key)
        circuit = check_of(plan.mechanism, plan.classes, plan.modulus) if number == CHECK else None
        if circuit is not None:
            words = self._check_words(plan, sums)
        else:
            circuit = answers_of(plan.mechanism, plan.classes, plan.modulus)
            everything = np.ones(sums.size if plan.multi_label else len(sums), np.bool_)
            words = self._answer_words(plan, sums)[self.passed.setdefault(key, everything)]
        computation = Computation.of(circuit, len(words), plan.base_transfers)
        garbling = Garbling(computation, b"s" * 32, tally_binding(*key, number))
        return self.stages.setdefault((key, number), Stage(circuit, words, garbling))

    def _check_words(self, plan: common_plan.Plan, sums: Any) -> Any:
        if isinstance(plan.mechanism, Confident):
            needed = threshold_steps(plan.mechanism.threshold)
            return confident_check(sums, needed, np.zeros(len(sums), np.int64), plan.modulus)
        assert plan.mechanism.noisy_check is not None
        needed = threshold_steps(plan.mechanism.noisy_check.threshold)
        return label_check(sums, self._totals(sums), needed, np.zeros(sums.shape, np.int64), plan.modulus)

    def _answer_words(self, plan: common_plan.Plan, sums: Any) -> Any:
        nothing = np.zeros(sums.shape, np.int64)
        if isinstance(plan.mechanism, Confident | GnMax):
            return noisy_counts(sums, nothing, plan.modulus)
        coins = nothing.astype(np.bool_)
        return halve_differences(sums, self._totals(sums), nothing, coins, plan.modulus)

    def _totals(self, sums: Any) -> Any:
        return np.full(len(sums), self.votes * VOTE, np.int64)

    def _read(self, call: str, messages: Iterator[Any], what: str) -> tuple[StepId, Stage, bytes]:
        header = read_header(messages)
        step = StepId.of(header)
        self.on_tally(call, step.stage)
        data = read_request(header, messages, most=1 << 30)
        self._note(what, data)
        return step, self.stages[(step.session_id, step.batch_id), step.stage], data

    def _reply(self, call: str, step: StepId, data: bytes) -> Iterator[Any]:
        sent = self.alter_tally(call, data)
        half = len(sent) // 2
        yield from reply_messages(step, len(sent), [sent[:half], sent[half:]])

    def _note(self, what: str, data: bytes) -> None:
        self.received.setdefault(what, []).append(data)
