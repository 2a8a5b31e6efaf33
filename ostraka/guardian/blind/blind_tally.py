"""A batch with a blind tally: the guardian's half of its histogram, its stages in order, size limits."""

import hashlib
import hmac
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.circuit import Circuit
from ostraka.common.crypto.computation import Computation
from ostraka.common.crypto.tally_circuits import answers_of, check_of
from ostraka.common.crypto.transcripts import tally_binding
from ostraka.common.crypto.two_party import Garbling
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import invalid_plan
from ostraka.common.plan.choices import BASE_TRANSFERS
from ostraka.common.plan.plan import Plan
from ostraka.common.sharing.modulus import RingArray
from ostraka.guardian.blind.circuit_inputs import Words, answer_words, check_words
from ostraka.guardian.noise import NoiseSource
from ostraka.protos.ostraka.v1 import common_pb2

SEED_BYTES = 32
T = TypeVar("T")


class Stage:
    """Answers every message with the same bytes during its lifetime, and refuses a second one of its kind.

    Two garblings under one seed, or labels for two inputs, would reveal the guardian's words. Everything is
    derived from a fresh seed, so a retry makes the tables again and they are never stored.
    """

    def __init__(
        self,
        circuit: Circuit,
        words: Words,
        binding: bytes,
        base_transfers: BASE_TRANSFERS = "ed25519",
        random: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        """Take the guardian's `words` (instances, words), with noise, and the `binding` of its messages."""
        computation = Computation.of(circuit, len(words), base_transfers)
        self._words = words
        self._garbling = Garbling(computation, random(SEED_BYTES), binding)
        self._seen: dict[str, bytes] = {}
        self.sizes = computation.sizes
        self.charged = False
        """Whether the ledger has committed this stage's cost. Nothing of the stage leaves before that."""

    def points(self, point: bytes) -> bytes:
        """Return the reply to the base transfers' first message."""
        return self._once("point", point, lambda: self._garbling.points(point))

    def accept(self, extension: bytes) -> bytes:
        """Take the extension of the transfers, and return its SHA-256, which the charge refers to.

        Raises:
            OstrakaError: `batch.altered` if it differs from the one before; `message.invalid` for a wrong
                size; `crypto.refused` if it is inconsistent. After the last the stage must not be used again:
                every try would reveal a little.
        """
        self._after("point" in self._seen, "BeginTally")
        self._once("extension", extension, lambda: self._garbling.accept(extension))
        return self._seen["extension"]

    def tables(self) -> Iterator[bytes]:
        """Return the garbled circuits in parts, only after they are charged."""
        self._after(self.charged, "GarbleTally")
        return self._garbling.tables()

    def labels(self, correction: bytes) -> bytes:
        """Labels of the guardian's words, moved by the querying party's `correction`."""
        self._after(self.charged, "GarbleTally")
        return self._once("correction", correction, lambda: self._garbling.labels(correction, self._words))

    def open(self, returned: bytes) -> NDArray[np.bool_]:
        """Return the output bits (instances, outputs) that the `returned` labels encode.

        Raises:
            OstrakaError: `crypto.refused` for a label of none of the circuits.
        """
        self._after("correction" in self._seen, "CompareTally")
        return self._once("returned", returned, lambda: self._garbling.open_outputs(returned))

    def _once(self, kind: str, content: bytes, answer: Callable[[], T]) -> T:
        digest = hashlib.sha256(content).digest()
        if not hmac.compare_digest(self._seen.get(kind, digest), digest):
            raise OstrakaError(
                ErrorCode.BATCH_ALTERED,
                "This step was sent before with other content; a retry must send the same bytes.",
            )
        # Recorded after the answer: a failed step may come again with other content.
        answered = answer()
        self._seen[kind] = digest
        return answered

    @staticmethod
    def _after(done: bool, step: str) -> None:
        if not done:
            raise out_of_order(step)


def out_of_order(step: str) -> OstrakaError:
    """Return the error for a step that arrives before the step that it requires."""
    return OstrakaError(
        ErrorCode.BATCH_OUT_OF_ORDER,
        f"{step} comes first in a blind tally; send it, then this again.",
    )


@dataclass
class BlindTally:
    """The guardian's side of one frozen batch. Guard every use with the batch's lock.

    Attributes:
        plan: of the session.
        session_id: its garblings are bound to it and to `batch_id`.
        batch_id: of the batch.
        sums: the guardian's half of the histogram, (queries, width), modulo the plan's modulus.
        totals: weight of all votes scheduled for each query, int64 (queries,) in steps of 2^-16 vote.
        noise: draws for this batch, each once.
        passed: which answers may be given, bool (queries, answers); None until the check is opened.
        stages: the stages that have begun.
    """

    plan: Plan
    session_id: str
    batch_id: int
    sums: RingArray = field(repr=False)
    totals: NDArray[np.int64] = field(repr=False)
    noise: NoiseSource = field(repr=False)
    passed: NDArray[np.bool_] | None = field(default=None, repr=False)
    stages: dict[common_pb2.Stage, Stage] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Allow every answer if there is no check."""
        if check_of(self.plan.mechanism, self.plan.classes, self.plan.modulus) is None:
            self.passed = np.ones(self._shape, dtype=np.bool_)

    def stage(self, stage: common_pb2.Stage) -> Stage:
        """Return a stage that has begun; raises `batch.out_of_order` if it has not."""
        found = self.stages.get(stage)
        if found is None:
            raise out_of_order("BeginTally")
        return found

    def begin(self, stage: common_pb2.Stage) -> Stage:
        """Return a stage; its noise is drawn when it begins for the first time.

        Raises:
            OstrakaError: `batch.out_of_order` for a check that the mechanism does not have, or for answers
                before the check is opened.
        """
        if stage not in self.stages:
            self.stages[stage] = self._check() if stage == common_pb2.STAGE_CHECK else self._answers()
        return self.stages[stage]

    def open_check(self, returned: bytes) -> NDArray[np.bool_]:
        """Which answers may be given, by the check's output labels; bool (queries, answers)."""
        self.passed = self.stage(common_pb2.STAGE_CHECK).open(returned).reshape(self._shape)
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
        modulus = self.plan.modulus
        circuit = check_of(self.plan.mechanism, self.plan.classes, modulus)
        if circuit is None:
            raise out_of_order("The answers' stage")
        words = check_words(self.plan.mechanism, self.sums, self.totals, self.noise, modulus)
        return Stage(circuit, words, self._binding(common_pb2.STAGE_CHECK), self.plan.base_transfers)

    def _answers(self) -> Stage:
        # All queries get noise, because it was drawn ahead; those that passed are kept.
        passed = self.may_answer().reshape(-1)
        modulus = self.plan.modulus
        words = answer_words(self.plan.mechanism, self.sums, self.totals, self.noise, modulus)[passed]
        circuit = answers_of(self.plan.mechanism, self.plan.classes, modulus)
        return Stage(circuit, words, self._binding(common_pb2.STAGE_ANSWERS), self.plan.base_transfers)

    def _binding(self, stage: common_pb2.Stage) -> bytes:
        return tally_binding(self.session_id, self.batch_id, stage)


MAX_MESSAGE_BYTES = 2**28
"""The largest message of a step that is kept in memory as a whole, 256 MiB: the labels of a batch's words."""


def instances(plan: Plan, circuit: Circuit, queries: int) -> int:
    """How often `circuit` is garbled for so many queries: once per query, or once per label of each query."""
    return queries * (plan.mechanism.width(plan.classes) // circuit.words)


def check_messages(plan: Plan) -> None:
    """Raise `plan.invalid` for a blind tally of batches whose messages are too large."""
    if plan.tally == "aggregate":
        return
    circuits = (
        check_of(plan.mechanism, plan.classes, plan.modulus),
        answers_of(plan.mechanism, plan.classes, plan.modulus),
    )
    each = max(
        Computation.of(circuit, instances(plan, circuit, 1)).sizes.labels
        for circuit in circuits
        if circuit is not None
    )
    fits = MAX_MESSAGE_BYTES // each
    if plan.batch_size > fits:
        raise invalid_plan(
            f"garbled circuits of a batch of {plan.batch_size} queries do not fit into memory; ask for"
            f" batches of at most {fits}"
        )
