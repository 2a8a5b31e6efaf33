"""A batch that is tallied blindly: the guardian's half of its histogram, and the stages in their order."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.confidential import tally_binding
from ostraka.common.crypto.tally_circuits import answers_of, check_of
from ostraka.common.plan.plan import Plan
from ostraka.guardian.blind.blind_refusals import out_of_order
from ostraka.guardian.blind.circuit_inputs import Sums, answer_words, check_words
from ostraka.guardian.blind.stage import Stage
from ostraka.guardian.noise import NoiseSource
from ostraka.protos.ostraka.v1 import common_pb2


@dataclass
class BlindTally:
    """The guardian's side of one frozen batch. Guard every use with the batch's lock.

    Attributes:
        plan: of the session.
        session_id: with `batch_id`, what its garblings are bound to.
        batch_id: of the batch.
        sums: the guardian's half of the histogram, (queries, width) in Z_2^32.
        totals: weight of all votes scheduled for each query, int64 (queries,) in steps of 2^-16 vote.
        noise: draws for this batch, each once.
        passed: which answers may be given, bool (queries, answers); None until the check is opened.
        stages: what has begun.
    """

    plan: Plan
    session_id: str
    batch_id: int
    sums: Sums = field(repr=False)
    totals: NDArray[np.int64] = field(repr=False)
    noise: NoiseSource = field(repr=False)
    passed: NDArray[np.bool_] | None = field(default=None, repr=False)
    stages: dict[common_pb2.Stage, Stage] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Without a check every answer may be given."""
        if check_of(self.plan.mechanism, self.plan.classes) is None:
            self.passed = np.ones(self._shape, dtype=np.bool_)

    def stage(self, stage: common_pb2.Stage) -> Stage:
        """Return a stage that has begun; raises `batch.out_of_order` for another."""
        found = self.stages.get(stage)
        if found is None:
            raise out_of_order("BeginTally")
        return found

    def begin(self, stage: common_pb2.Stage) -> Stage:
        """Return a stage, whose noise is drawn when it is begun for the first time.

        Raises:
            OstrakaError: `batch.out_of_order` for a check that the mechanism does not have, or for answers
                before the check is opened.
        """
        if stage not in self.stages:
            self.stages[stage] = self._check() if stage == common_pb2.STAGE_CHECK else self._answers()
        return self.stages[stage]

    def open_check(self, returned: bytes) -> NDArray[np.bool_]:
        """Which answers may be given, by the check's output labels; bool (queries, answers)."""
        self.passed = self.stage(common_pb2.STAGE_CHECK).opened(returned).reshape(self._shape)
        return self.passed

    def may_answer(self) -> NDArray[np.bool_]:
        """Which answers may be given; raises `batch.out_of_order` before the check is opened."""
        if self.passed is None:
            raise out_of_order("The check's stage, up to OpenCheck,")
        return self.passed

    @property
    def _shape(self) -> tuple[int, int]:
        return len(self.sums), self.plan.mechanism.answers(self.plan.classes)

    def _check(self) -> Stage:
        circuit = check_of(self.plan.mechanism, self.plan.classes)
        if circuit is None:
            raise out_of_order("The answers' stage")
        words = check_words(self.plan.mechanism, self.sums, self.totals, self.noise)
        return Stage(circuit, words, self._binding(common_pb2.STAGE_CHECK))

    def _answers(self) -> Stage:
        """All queries are noised, because that was drawn ahead, and those that passed are kept."""
        passed = self.may_answer().reshape(-1)
        words = answer_words(self.plan.mechanism, self.sums, self.totals, self.noise)[passed]
        circuit = answers_of(self.plan.mechanism, self.plan.classes)
        return Stage(circuit, words, self._binding(common_pb2.STAGE_ANSWERS))

    def _binding(self, stage: common_pb2.Stage) -> bytes:
        return tally_binding(self.session_id, self.batch_id, stage)
