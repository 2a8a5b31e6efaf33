"""Repricing of past spending at another Renyi order than it was charged at."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from sqlalchemy import Connection, Select, exists, select

from ostraka.common.errors import OstrakaError
from ostraka.common.plan import Plan
from ostraka.common.privacy import InputError
from ostraka.common.schedules import scheduled
from ostraka.common.sharing.fixed_point import FRACTION_BITS
from ostraka.common.signed_lists import stored_ticket
from ostraka.guardian.accounting.smooth_noise import SmoothNoise
from ostraka.guardian.ledger import publications
from ostraka.guardian.ledger.amounts import add
from ostraka.guardian.ledger.schema import batches, charges, evaluations, reconciled, sessions, units
from ostraka.protos.ostraka.v1 import common_pb2


def spent_at(connection: Connection, party: str, adjacency: str, order: float, votes: int = 1) -> int | None:
    """Return the most any record of `party` spent in the worst case at `order`, with batches under way.

    Every batch counts by the group that it costs most, because records change groups. Under adjacency
    `record` what labels alone were charged does not count. One person has as many votes in a query as the
    ticket says, and `votes` at least; receipts that were charged for one vote each are not known for more.
    None where nobody knows: a receipt was charged at a smaller order, an epsilon was published with noise
    that bounds nothing at `order`, or a plan or ticket is of a version that is not read now.
    """
    receipts = select(reconciled.c.worst_case, units.c.renyi_order)
    receipts = receipts.join(units, units.c.id == reconciled.c.unit).where(units.c.party == party)
    if adjacency == "record":
        receipts = receipts.where(units.c.adjacency == "record")
    total = 0
    for amount, at in connection.execute(receipts):
        if at < order or votes > 1:
            return None
        total = add(total, amount)
    prices = _Prices(party, adjacency, order, votes)
    try:
        for beta, sigma in publications.noises(connection, party, _charged_with(adjacency)):
            total = add(total, SmoothNoise(beta, sigma).cost(order))
        for row in connection.execute(_batches_of(party)):
            answered = row.size if row.state == "ticketed" or row.evaluated else row.answered
            total = add(total, prices.price(bytes(row.plan), bytes(row.ticket), answered))
    except (OstrakaError, InputError):
        return None
    return total


def _charged_with(adjacency: str) -> tuple[str, ...]:
    """Return the adjacencies of units that what a unit's records spent was charged to."""
    return ("record",) if adjacency == "record" else ("record", "label")


def _batches_of(party: str) -> Select[Any]:
    """Batches that were charged to a party, and all that are under way; without their answers, which of a
    training are as large as its network. `evaluated`: the party was charged at worst for a batch that was not
    released, or not with its votes.
    """
    paid = exists().where(
        charges.c.batch == batches.c.id, charges.c.unit == units.c.id, units.c.party == party
    )
    evaluated = exists().where(
        evaluations.c.batch == batches.c.id,
        evaluations.c.charged_unix_ms.is_not(None),
        evaluations.c.unit == units.c.id,
        units.c.party == party,
    )
    charged = (batches.c.state == "released") | batches.c.check_digest.is_not(None) | evaluated
    counted = (batches.c.state == "ticketed") | (charged & paid)
    columns = (batches.c.size, batches.c.state, batches.c.answered, batches.c.ticket, sessions.c.plan)
    return select(*columns, evaluated.label("evaluated")).select_from(batches.join(sessions)).where(counted)


class _Prices:
    """Costs of batches to a party's records at one order."""

    def __init__(self, party: str, adjacency: str, order: float, votes: int) -> None:
        self._party = party
        self._votes = votes
        self._adjacency = adjacency
        self._plan = cache(Plan.parse)
        self._cost = cache(
            lambda mechanism, sensitivity, labels: mechanism.worst_case(order, sensitivity, classes=labels)
        )

    def price(self, plan: bytes, ticket: bytes, answered: int) -> int:
        """Return what a batch costs the party's group that it costs most.

        Raises:
            OstrakaError: a plan or ticket that this version does not read.
        """
        if self._plan(plan).adjacency == "label" and self._adjacency == "record":
            return 0
        named = stored_ticket(ticket)
        mine = [schedule for schedule in named.schedule if schedule.participant.site == self._party]
        return max((self._of(plan, each, named.size, answered) for each in mine), default=0)

    def _of(self, plan: bytes, schedule: common_pb2.Schedule, size: int, answered: int) -> int:
        party, asked = schedule.participant, self._plan(plan)
        labels = asked.classes - len(asked.columns_of(party.abstains))
        most = 0
        for cohort, present in zip(party.cohorts, scheduled(schedule, size), strict=True):
            given = np.zeros((int(present.sum()), asked.mechanism.answers(labels)), dtype=np.bool_)
            given[:answered] = True
            own = max(party.max_votes_per_person, self._votes)
            votes = own * (1 if asked.mechanism.by_record else max(cohort.copies))
            sensitivity = math.ldexp(votes * cohort.weight, -FRACTION_BITS)
            cost = self._cost(asked.mechanism, sensitivity, labels)
            most = max(most, cost.amount(given))
        return most
