"""The answer to one question: the sum over a party's records, and its ballot."""

import hashlib

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Identity
from ostraka.common.learning.sum_answers import answer_steps
from ostraka.common.plan.plan import Plan
from ostraka.common.sharing import FRACTION_BITS
from ostraka.common.sums.questions import CHUNK, CHUNK_VALUES, AnyQuestion, Rows, weigh_steps
from ostraka.common.sums.wire import read_question
from ostraka.common.verified.sum_parts import sum_parts
from ostraka.protos.ostraka.v1 import party_pb2
from ostraka.services.admission.grants import Permission
from ostraka.services.hosting.hosting import Hosted
from ostraka.services.hosting.records import Records
from ostraka.services.sums.question_checks import check_question
from ostraka.services.voting.answers import Ballots, IdempotentAnswers, UnverifiedBallots, VerifiedBallots

COPIES = 6
"""Peak memory of an answer as a multiple of its size, while it is summed, weighted and shared; measured."""
PROVED_COPIES = 10
"""The same if an answer is shared as digits and proved; measured for 7,850 values."""
VALUE_BYTES = 8


def answer_bytes(plan: Plan) -> int:
    """Return the memory of an answer, however short its question is: its copies, and a chunk of records.

    Each record is mapped to at most as many values as there are in the sum.
    """
    width = plan.mechanism.width(plan.classes)
    copies = PROVED_COPIES if plan.ballots == "verified" else COPIES
    return copies * width * plan.value_bytes + VALUE_BYTES * min(CHUNK * width, CHUNK_VALUES)


class Summer:
    """Answers permitted questions, each once; thread-safe."""

    def __init__(self, answers: IdempotentAnswers) -> None:
        """Take the cache that makes each reply once."""
        self._answers = answers

    def answer(
        self, hosted: Hosted, permission: Permission, data: bytes, querier: Identity
    ) -> party_pb2.VoteReplyHeader:
        """Return the reply to a question that `hosted.terms` allow; the same content gets the same bytes.

        `data` is a serialized question. Raises `policy.refused` without records, and what `read_question`,
        `check_question`, `IdempotentAnswers.open` and `submit` raise.
        """
        if hosted.records is None:
            raise OstrakaError(
                ErrorCode.POLICY_REFUSED,
                "This party has no records to add up: ask its operator to name them as data in [training] of"
                " site.toml and to start it again, or leave this party out of the plan.",
            )
        question = read_question(data)
        check_question(question, permission.plan.mechanism, hosted.records)
        request_digest = permission.digest(hashlib.sha256(data).digest(), querier)
        charges = hosted.terms.declared.charges(permission)
        with self._answers.open(permission, request_digest, charges) as answer:
            if answer.is_new:
                steps = sum_cohorts(question, hosted.records, permission)
                self._answers.record(answer, _share_as_planned(steps, permission))
            return self._answers.submit(answer)


def _share_as_planned(steps: NDArray[np.int64], permission: Permission) -> Ballots:
    """Return a sum (width,) in lattice steps, ready to be shared as the plan says."""
    ballot = np.ldexp(steps.astype(np.float64), -FRACTION_BITS)[None]
    if permission.plan.ballots == "unverified":
        return UnverifiedBallots(ballot)
    parts = sum_parts(permission.plan, permission.participant, permission.scheduled)
    # Blocks are proved separately, each with its columns of the same sum.
    return VerifiedBallots(parts, (ballot,) * len(parts))


def sum_cohorts(question: AnyQuestion, records: Records, permission: Permission) -> NDArray[np.int64]:
    """Return the sum (width,) in lattice steps over the records of all scheduled cohorts.

    Each cohort's sum is in whole steps; it is then weighted and rounded once. So a record changes the total
    by its weight times its change of the cohort's sum, plus less than one step (docs/sums.md).
    """
    total = np.zeros(sum(question.widths), np.int64)
    cohorts = permission.participant.cohorts
    rows = Rows(records.codes, records.features, records.y)
    for place, (cohort, scheduled) in enumerate(zip(cohorts, permission.scheduled, strict=True)):
        if not scheduled.all():
            continue
        steps = np.concatenate(answer_steps(question, rows.take(records.groups == place)))
        total += weigh_steps(steps, cohort.weight, FRACTION_BITS)
    return total
