"""Requests of querying parties in a year: sessions of a few batches, some abandoned or asked again."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials
from ostraka.common.mechanism import GnMax
from ostraka.common.plan.choices import VARIANT
from ostraka.common.plan.plan import Plan
from ostraka.common.plan.schedules import read_schedule
from ostraka.common.sharing.fixed_point import encode
from ostraka.common.sharing.ring import RingArray
from ostraka.common.sharing.shares import RowSums, split
from ostraka.guardian.ledger.log import audit
from ostraka.guardian.sessions.batch import Share
from ostraka.protos.ostraka.v1 import common_pb2
from tests.chaos.members import CLASSES, RING, TASK
from tests.chaos.records import Record, receipts
from tests.chaos.year.books import Books
from tests.chaos.year.guardian import DiedError, Guardian
from tests.chaos.year.sites import Site
from tests.signed_lists import grant_of, ticket_of

PARTIES, QUORUM = 5, 2
ABSENT, ABANDONED, SETTLED, AGAIN = 0.05, 0.06, 0.05, 0.1
"""Probabilities: a missing share, a batch left open, a batch given up, a second release."""
FREEZE_S = 60.0
SIGMAS = tuple(4 + number / 4 for number in range(32))


class Asking:
    """Querying parties, one session after the other."""

    def __init__(
        self, draws: random.Random, clock: ManualClock, guardian: Guardian, books: Books, count: Counter[str]
    ) -> None:
        self._draws = draws
        self._clock = clock
        self._guardian = guardian
        self._books = books
        self._count = count

    def session(self, querier: Credentials, sites: Sequence[Site]) -> None:
        """Run a session with some sites, as far as it gets."""
        plan, asked = self._plan(sites), {site.name: site for site in sites}
        try:
            signed = self._guardian.insist(
                lambda g: g.coordinator.open_session(querier.identity, plan.serialize())
            )
        except OstrakaError as exc:
            self._count[f"session refused: {exc.code}"] += 1
            return
        self._count["session"] += 1
        session = grant_of(signed).session_id
        left = False
        for _ in range(self._draws.randint(1, 3)):
            record = Record(
                querier.identity.site,
                session,
                self._draws.getrandbits(62),
                plan,
                self._draws.randint(1, plan.batch_size),
            )
            left = self._tried(querier, record, asked) or left
        if not left and self._draws.random() < 0.8:
            self._guardian.insist(lambda g: g.coordinator.close_session(querier.identity, session))

    def settle(self, querier: Credentials, record: Record) -> None:
        """Ask for the outcome of a batch."""
        answers = self._guardian.insist(
            lambda g: g.coordinator.settle(querier.identity, record.session, record.batch)
        )
        self._books.told(record, answers)

    def _tried(self, querier: Credentials, record: Record, asked: dict[str, Site]) -> bool:
        """Ask for a batch, settle it if anything fails, and return whether it is left open."""
        try:
            left = self._batch(querier, record, asked)
        except DiedError:
            left = False
        except OstrakaError as exc:
            self._count[f"batch refused: {exc.code}"] += 1
            left = False
        if not left and record.key not in self._books.state.outcomes:
            self.settle(querier, record)
        self._count["batch answered" if record.answers else "batch open" if left else "batch dead"] += 1
        return left

    def _batch(self, querier: Credentials, record: Record, asked: dict[str, Site]) -> bool:
        who, key = querier.identity, record.key
        away = [name for name in asked if self._draws.random() < ABSENT]
        signed = self._guardian.call(lambda g: g.coordinator.open_batch(who, *key, record.size, away))
        record.tickets.add(signed.SerializeToString())
        self._books.opened(record, asked)
        ticket = ticket_of(signed)
        shares = {
            schedule.participant.site: self._vote(asked[schedule.participant.site], record, ticket, schedule)
            for schedule in ticket.schedule
        }
        held = [name for name in shares if self._draws.random() >= ABSENT]
        self._clock.advance(FREEZE_S)
        reply = self._guardian.call(lambda g: g.coordinator.prepare(who, *key, held, RowSums(b"", {})))
        record.frozen.add(tuple(reply.frozen))
        fate = self._draws.random()
        if fate < ABANDONED + SETTLED:
            return fate < ABANDONED
        self._release(querier, record, RING.sum(shares[name] for name in reply.frozen))
        return False

    def _vote(
        self, site: Site, record: Record, ticket: common_pb2.Ticket, schedule: common_pb2.Schedule
    ) -> RingArray:
        """Keep receipts, report the evaluation of an encrypted batch, and send the guardian its share."""
        if record.plan.encoding == "ckks":
            record.asked.add(site.name)
            self._guardian.call(lambda g: g.coordinator.ballots.record_evaluation(site.identity, *record.key))
            record.evaluated.add(site.name)
        site.receipts += receipts(record.plan, ticket, schedule)
        site.voted.append(record)
        ballots = self._ballots(schedule, ticket.size)
        others = split(ballots, self._draws.randbytes(32), RING)
        if self._draws.random() >= ABSENT:
            self._guardian.call(self._submit(site, record, others))
        return encode(ballots, RING) - others

    def _submit(self, site: Site, record: Record, share: RingArray) -> Callable[[Guardian], None]:
        def submit(guardian: Guardian) -> None:
            ticketed = guardian.coordinator.ballots.batch_to_submit(site.identity, *record.key)
            guardian.coordinator.ballots.submit(site.identity, ticketed, Share.of(share))
            site.head = guardian.ledger.read(audit.head)

        return submit

    def _release(self, querier: Credentials, record: Record, total: RingArray) -> None:
        def release(guardian: Guardian, values: RingArray = total) -> bytes:
            ticketed = guardian.coordinator.batch_to_release(querier.identity, *record.key)
            return guardian.coordinator.release(ticketed, Share.of(values))

        self._books.told(record, self._guardian.call(release))
        if self._draws.random() < AGAIN:
            self._books.told(record, self._guardian.insist(release))
        if self._draws.random() < AGAIN:
            try:
                other = self._guardian.insist(lambda g: release(g, total + total.dtype.type(1)))
                self._books.told(record, other)
            except OstrakaError as exc:
                if exc.code is not ErrorCode.BATCH_ALTERED:
                    raise

    def _ballots(self, schedule: common_pb2.Schedule, size: int) -> np.ndarray:
        ballots = np.zeros((size, CLASSES))
        present = read_schedule(schedule, size)
        for cohort, queries in zip(schedule.participant.cohorts, present, strict=True):
            ballots[:, self._draws.randrange(CLASSES)] += cohort.teachers * queries * cohort.weight / 2**16
        return ballots

    def _plan(self, sites: Sequence[Site]) -> Plan:
        variants: list[VARIANT] = ["none", "none", "none", "weighting", "vanishing"]
        variant = self._draws.choice(variants)
        return Plan(
            nonce=self._draws.randbytes(16),
            task_digest=TASK,
            classes=CLASSES,
            mechanism=GnMax(sigma=self._draws.choice(SIGMAS)),
            parties=tuple(sorted(site.name for site in sites)),
            quorum=1 if variant == "vanishing" else QUORUM,
            queries=40,
            batch_size=self._draws.randint(2, 6),
            variant=variant,
            ring_bits=32,
            encoding=self._draws.choice(["plain", "plain", "plain", "ckks"]),
        )
