"""What is looked at before a party's teachers are asked anything, and what is kept of a refused batch."""

import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Identity, Role
from ostraka.common.mechanism import GnMax
from ostraka.common.plan.plan import Plan, digest
from ostraka.protos.ostraka.v1 import common_pb2
from ostraka.services.admission.grants import Permission
from ostraka.services.encrypted.answering import EncryptedVoter
from ostraka.services.journal.journal import Journal
from ostraka.services.journal.limits import Cap, GroupCharge, QueryCount
from ostraka.services.voting.answers import IdempotentAnswers, UnverifiedBallots
from ostraka.services.voting.submission import GuardianShare

NOW, SIZE = 1_900_000_000.0, 5
QUERIER = Identity("fed", "q", Role.QUERY)
MECHANISM = GnMax(sigma=10.0)
COST = GroupCharge(MECHANISM, SIZE, 3)
"""What one batch costs."""


@pytest.fixture(params=["cap", "day"])
def full(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Journal, ErrorCode]]:
    """Yield a journal in which one batch leaves no room for another, and what that is refused with."""
    if request.param == "cap":
        limits: dict[str, Any] = {"cap": Cap(8.0, COST.amount(8.0))}
        code = ErrorCode.PARTY_CAP_REACHED
    else:
        limits, code = {"queries_per_day": 2 * SIZE - 1}, ErrorCode.POLICY_DAILY_LIMIT
    with Journal(tmp_path / "journal.db", **limits) as journal:
        journal.record("s", 1, [COST], QueryCount(QUERIER.uri, SIZE), NOW)
        yield journal, code


def permission(batch_id: int) -> Permission:
    plan = Plan(
        nonce=bytes(16),
        task_digest=bytes(32),
        classes=3,
        mechanism=MECHANISM,
        parties=("a", "b"),
        quorum=2,
        queries=SIZE,
        batch_size=SIZE,
    )
    cohort = common_pb2.Cohort(groups=["all"], teachers=1, weight=1, copies=[1])
    return Permission(
        plan=plan,
        plan_digest=digest(plan.serialize()),
        grant=common_pb2.Grant(session_id="s", querier=QUERIER.uri, expires_unix_s=int(NOW) + 60),
        participant=common_pb2.Participant(site="a", teachers=1, cohorts=[cohort]),
        batch_id=batch_id,
        size=SIZE,
        scheduled=np.ones((1, SIZE), np.bool_),
    )


def vote(answers: IdempotentAnswers, allowed: Permission, votes: Callable[[], Any]) -> None:
    with answers.open(allowed, b"asked", [COST]) as answer:
        if answer.is_new:
            answers.record(answer, UnverifiedBallots(votes()))
        answers.submit(answer)


def nobody(*_: object) -> NoReturn:
    raise AssertionError("nobody is asked for a batch that is refused")


def test_no_teacher_votes_on_a_batch_that_is_refused(full: tuple[Journal, ErrorCode]) -> None:
    journal, code = full
    guardian: Any = None
    answers = IdempotentAnswers(journal, guardian, ManualClock(NOW), seed=nobody)
    with pytest.raises(OstrakaError) as refused:
        vote(answers, permission(2), nobody)
    assert refused.value.code is code
    assert not journal.holds("s", 2)


def test_no_circuit_is_made_for_an_encrypted_batch_that_is_refused(full: tuple[Journal, ErrorCode]) -> None:
    journal, code = full
    guardian: Any = None
    voter = EncryptedVoter(journal, guardian, ManualClock(NOW), random=nobody)

    class Declared:
        def charges(self, _: Permission) -> list[GroupCharge]:
            return [COST]

    class Terms:
        head, declared = "linear", Declared()

    class Hosted:
        terms = Terms()

    hosted: Any = Hosted()
    with pytest.raises(OstrakaError) as refused:
        voter.begin(hosted, permission(2), b"point", QUERIER)
    assert refused.value.code is code
    assert not journal.holds("s", 2)


class Refusing:
    """A guardian that refuses every share; `share` is what came last, if anybody still has it."""

    def __init__(self, code: ErrorCode) -> None:
        self.code, self.submissions = code, 0

    def submit(self, share: GuardianShare) -> NoReturn:
        self.share, self.submissions = weakref.ref(share), self.submissions + 1
        raise OstrakaError(self.code, "Not taken.")


@pytest.mark.parametrize(
    ("code", "submissions"), [(ErrorCode.BATCH_DEAD, 1), (ErrorCode.LEDGER_LOCKED, 2)], ids=str
)
def test_a_share_is_kept_only_for_a_guardian_that_may_take_it(
    tmp_path: Path, code: ErrorCode, submissions: int
) -> None:
    """Whoever has batches die before they are voted on would fill a party's memory otherwise."""
    guardian = Refusing(code)
    with Journal(tmp_path / "journal.db") as journal:
        answers = IdempotentAnswers(journal, guardian, ManualClock(NOW))
        for _ in range(2):
            assert _refused(answers) is code
    assert guardian.submissions == submissions
    assert (guardian.share() is None) == (submissions == 1)


def _refused(answers: IdempotentAnswers) -> ErrorCode:
    try:
        vote(answers, permission(1), lambda: np.ones((SIZE, 3)))
    except OstrakaError as exc:
        return exc.code
    raise AssertionError("the guardian refuses every share")
