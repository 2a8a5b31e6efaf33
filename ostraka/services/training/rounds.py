"""One party's work in a round of a training, and at its end."""

import threading
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Identity
from ostraka.common.mechanism import JointTraining
from ostraka.common.sharing import FRACTION_BITS
from ostraka.protos.ostraka.v1 import party_pb2, training_pb2
from ostraka.services.admission.grants import GrantedSession, Permission
from ostraka.services.teachers.config import Progress
from ostraka.services.teachers.ensemble import Ensemble
from ostraka.services.teachers.joint_training import RoundInput
from ostraka.services.training.learning import JointLearning
from ostraka.services.training.variates import KeptVariates
from ostraka.services.voting.answers import IdempotentAnswers, UnverifiedBallots

NUMBER_BYTES = 4


@dataclass(eq=False, repr=False, frozen=True)
class Trainer:
    """Lets the teachers do one round after the other; thread-safe.

    Attributes:
        learning: the teachers.
        kept: storage of the teachers' variates.
        answers: makes each reply once.
        folder: where teachers are stored.
        progress: called with the number of rounds done, and their total.
        finished: called with the stored ensemble.
    """

    learning: JointLearning
    kept: KeptVariates
    answers: IdempotentAnswers
    folder: Path
    _: KW_ONLY
    progress: Progress
    finished: Callable[[Ensemble], object]
    # Guards the variates from reading to writing: a concurrent round would start from old ones.
    _one_at_a_time: threading.Lock = field(default_factory=threading.Lock, init=False)

    def train(
        self,
        permission: Permission,
        mechanism: JointTraining,
        header: training_pb2.TrainHeader,
        average: bytes,
        querier: Identity,
    ) -> party_pb2.VoteReplyHeader:
        """Return the reply to a round that `JointLearning.check` allows; equal content gets equal bytes.

        The average is little-endian float32: parameters, then control variate. Raises `data.nan`,
        `message.invalid`, `ticket.invalid`, or what `KeptVariates.settle`, `IdempotentAnswers.open` and
        `submit` raise.
        """
        round = _round(header, average)
        if round.number >= permission.plan.queries:
            raise OstrakaError(
                ErrorCode.MESSAGE_INVALID,
                f"The plan has {permission.plan.queries} rounds and {round.number} were released: finish the "
                "training.",
            )
        if not permission.scheduled.all():
            raise OstrakaError(
                ErrorCode.TICKET_INVALID,
                "The ticket leaves out some of this party's teachers, and they learn together: ask the "
                "guardian for a ticket of this round.",
            )
        charges = self.learning.terms.declared.charges(permission)
        request_digest = permission.digest(_content(header), querier)
        with self.answers.open(permission, request_digest, charges) as answer:
            if answer.is_new:
                update = self._update(permission, mechanism, round, querier.site, _last_counted(header))
                self.answers.record(answer, UnverifiedBallots(update))
            return self.answers.submit(answer)

    def finish(
        self,
        session: GrantedSession,
        mechanism: JointTraining,
        header: training_pb2.TrainHeader,
        average: bytes,
        querier: Identity,
    ) -> None:
        """Store the teachers after their last local steps; a repeated call stores the same.

        Raises `data.nan`, or what `KeptVariates.settle` raises.
        """
        round = _round(header, average)
        with self._one_at_a_time:
            variates = self.kept.settle(session.grant.session_id, querier.site, _last_counted(header))
            nets = self.learning.teachers(mechanism.recipe).finish(mechanism, round, variates)
            ensemble = self.learning.ensemble(nets)
            ensemble.save(self.folder)
        self.progress(session.plan.queries + 1, session.plan.queries + 1)
        self.finished(ensemble)

    def _update(
        self,
        permission: Permission,
        mechanism: JointTraining,
        round: RoundInput,
        lead: str,
        counted: int | None,
    ) -> NDArray[np.float64]:
        """Return the party's update as one ballot, (1, d); its variates are durable on return."""
        session_id, batch_id = permission.key
        with self._one_at_a_time:
            variates = self.kept.settle(session_id, lead, counted)
            steps, after = self.learning.teachers(mechanism.recipe).update(mechanism, round, variates)
            self.kept.propose(session_id, lead, batch_id, after)
        self.progress(round.number + 1, permission.plan.queries + 1)
        return np.ldexp(steps.astype(np.float64), -FRACTION_BITS)[None]


def average_bytes(parameters: int) -> int:
    """Return the size of an average with `parameters` parameters, and its control variate."""
    return 2 * parameters * NUMBER_BYTES


def _round(header: training_pb2.TrainHeader, average: bytes) -> RoundInput:
    theta, c = np.frombuffer(average, "<f4").astype(np.float32).reshape(2, -1)
    if not (np.isfinite(theta).all() and np.isfinite(c).all()):
        raise OstrakaError(
            ErrorCode.DATA_NAN,
            f"The average after {header.round} rounds has values that are not numbers: begin the training "
            "again with a smaller learning rate.",
        )
    return RoundInput(theta, c, header.round)


def _last_counted(header: training_pb2.TrainHeader) -> int | None:
    return header.counted if header.HasField("counted") else None


def _content(header: training_pb2.TrainHeader) -> bytes:
    """Return everything that an update depends on except the plan; the digest of the average was checked."""
    counted = _last_counted(header)
    told = b"" if counted is None else counted.to_bytes(8, "little")
    return header.sha256 + header.round.to_bytes(4, "little") + told
