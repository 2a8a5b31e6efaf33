"""One batch voted on: features checked, teachers asked, ballots formed."""

import numpy as np
from numpy.typing import NDArray

from common.datasets.dataset import require_finite
from common.errors import ErrorCode, OstrakaError
from common.identity import Identity
from common.mechanism import NoiseCluster
from common.task import Task
from protos.ostraka.v1 import party_pb2
from services.answers import Answers
from services.grants import Permission
from services.hosting.hosted import Hosted


class Voter:
    """Answers permitted batches, each once; safe to call from many threads."""

    def __init__(self, answers: Answers) -> None:
        """Takes what makes each reply once."""
        self._answers = answers

    def answer(
        self, hosted: Hosted, permission: Permission, features: bytes, querier: Identity
    ) -> party_pb2.VoteReplyHeader:
        """The reply to a request that `hosted.terms` allow; the same content again gets the same bytes.

        Features are little-endian float32, size x columns, after the task's preprocessing. Raises `data.nan`,
        `task.mismatch` for features beyond what the preprocessing gives, or what `Answers.answer` raises.
        """
        X = np.frombuffer(features, "<f4").astype(np.float32).reshape(permission.size, -1)
        _check_features(X, hosted.terms.task)
        asked, charges = permission.digest(features, querier), hosted.terms.declared.charges(permission)
        return self._answers.answer(permission, asked, charges, lambda: _ballots(hosted, X, permission))


def _check_features(X: NDArray[np.float32], task: Task) -> None:
    require_finite(X, task.columns, "The batch")
    if task.input.preprocessing == "range" and (X.min() < 0 or X.max() > 1):
        raise OstrakaError(
            ErrorCode.TASK_MISMATCH,
            "The batch has features outside 0 to 1, onto which the task maps its ranges: preprocess "
            "records as the task says before they are sent.",
        )


def _ballots(hosted: Hosted, X: NDArray[np.float32], permission: Permission) -> NDArray[np.float64]:
    """Ballots in votes, (queries, width); zero where this party has no teacher scheduled."""
    plan, mechanism = permission.plan, permission.plan.mechanism
    if isinstance(mechanism, NoiseCluster):
        assert hosted.records is not None  # noqa: S101 - the policy allows it only with records
        return hosted.records.ballots(X, permission.scheduled)
    return hosted.teachers.ballots(X, hosted.terms.declared.turns(permission), mechanism, plan.labels)
