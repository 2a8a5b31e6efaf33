"""Repricing of past spending: at another order or filter, or for more votes per person.

Each kind of entry has one rule here, and every entry of a party goes through the rule of its kind.

Charges were computed from the votes that the party's manifest declared at the time. A larger number corrects
a mistake: earlier releases cost such a person more. The units then take over the worst-case cost of all their
entries with that many votes. If this cost is unknown, or exceeds the budget, the unit no longer keeps its
guarantee, and says so.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, Self

import numpy as np
from sqlalchemy import ColumnElement, Connection, Select, exists, func, select

from ostraka.common.errors import OstrakaError
from ostraka.common.plan.plan import Plan
from ostraka.common.plan.schedules import read_schedule
from ostraka.common.plan.signed_lists import read_ticket
from ostraka.common.privacy import InputError
from ostraka.common.privacy.filters import holds_at
from ostraka.common.sharing import FRACTION_BITS
from ostraka.guardian.accounting.smooth_noise import SmoothNoise
from ostraka.guardian.ledger.store.amounts import add, overdrawn
from ostraka.guardian.ledger.store.schema import (
    batches,
    charges,
    entries,
    evaluations,
    publications,
    sessions,
    unit_events,
)
from ostraka.guardian.ledger.store.schema import units as unit_table
from ostraka.guardian.ledger.transaction import Transaction
from ostraka.guardian.ledger.units import history, units
from ostraka.guardian.ledger.units.entries import last as last_entry
from ostraka.guardian.ledger.units.units import UnitRow
from ostraka.protos.ostraka.v1 import common_pb2

_RAISED = (
    select(unit_table.c.party, unit_events.c.entry, unit_events.c.votes)
    .join(unit_table, unit_table.c.id == unit_events.c.unit)
    .where(unit_events.c.kind == "recosted")
    .distinct()
)


@dataclass(frozen=True)
class Raises:
    """Raises of one party: each with the last entry before it, and the votes of one person from then on.

    The number of votes is infinite if an older version did not record it.
    """

    found: Sequence[tuple[float, float]]

    @classmethod
    def of(cls, connection: Connection, party: str, votes: int = 1) -> Self:
        """Return a party's raises, plus one to `votes` now."""
        of_party = _RAISED.where(unit_table.c.party == party)
        before = [(abs(last), _votes_or_infinity(raised)) for _, last, raised in connection.execute(of_party)]
        return cls([*before, (math.inf, votes)])

    @property
    def last(self) -> float:
        """The last entry before the latest raise."""
        return max(last for last, _ in self.found)

    def since(self, entry: int, votes: int) -> float:
        """Return the votes of one person, as declared since, in an entry that was charged for `votes`."""
        return max([votes, *(raised for last, raised in self.found if last >= entry)])


def all_raises(connection: Connection) -> dict[str, Raises]:
    """Return the raises of all parties that had some."""
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for party, last, raised in connection.execute(_RAISED):
        found[party].append((abs(last), _votes_or_infinity(raised)))
    return {party: Raises(each) for party, each in found.items()}


def _votes_or_infinity(votes: int | None) -> float:
    return math.inf if votes is None else votes


@dataclass(frozen=True)
class Repriced:
    """The party whose spending is priced, and the terms.

    Attributes:
        party: the party that owns the records.
        adjacency: of the records' unit; under `record`, entries that only labels paid for do not count.
        order: Renyi order of the prices, or `GAUSSIAN`.
        raises: the numbers of votes of one person that the party has declared since.
    """

    party: str
    adjacency: str
    order: float
    raises: Raises


Rule = Callable[[Connection, Repriced], Iterator[int | None]]
"""Yields an upper bound on each entry's cost to a record of a party; None if unknown; a bound and None if
only a part is known."""


def spent_at(connection: Connection, party: str, adjacency: str, order: float, votes: int = 1) -> int | None:
    """Return the most any record of `party` spent in the worst case at `order`, with batches under way.

    Every entry counts by the group that it costs most, because records change groups. One person has as many
    votes in a query as the party has declared since, and at least `votes`. None means unknown: see the rule
    of each kind.
    """
    return spending(connection, party, adjacency, order, votes).known


class Spending(NamedTuple):
    """The cost of the entries with a known price, and whether that is all of them."""

    at_least: int
    complete: bool

    @property
    def known(self) -> int | None:
        """The cost of all entries; None if unknown."""
        return self.at_least if self.complete else None


def spending(connection: Connection, party: str, adjacency: str, order: float, votes: int = 1) -> Spending:
    """As `spent_at`, with the part that is known in any case."""
    asked = Repriced(party, adjacency, order, Raises.of(connection, party, votes))
    kinds = connection.scalars(select(entries.c.kind).distinct().order_by(entries.c.kind)).all()
    return _add_up(amount for kind in kinds for amount in RULES[kind](connection, asked))


def under_way_at(connection: Connection, party: str, adjacency: str, order: float) -> int | None:
    """Return the largest cost of batches under way to any record of `party`; None: unknown."""
    asked = Repriced(party, adjacency, order, Raises.of(connection, party))
    return _add_up(_batches(connection, asked, batches.c.state == "ticketed")).known


def _add_up(amounts: Iterable[int | None]) -> Spending:
    total = 0
    complete = True
    for amount in amounts:
        total = add(total, amount or 0)
        complete = complete and amount is not None
    return Spending(total, complete)


def _receipts(connection: Connection, asked: Repriced) -> Iterator[int | None]:
    """Price batches of a lost history as they were charged, for that order or a smaller one of the filter.

    Their plans and tickets are lost. For more votes of one person the additional cost is unknown.
    """
    columns = (charges.c.entry, unit_table.c.renyi_order, charges.c.worst_case)
    for row in connection.execute(_entries_charged(asked, "receipt", *columns)):
        yield int(row.worst_case) if holds_at(row.renyi_order, asked.order) else None
        if asked.raises.since(row.entry, 1) > 1:
            yield None


def _publications(connection: Connection, asked: Repriced) -> Iterator[int | None]:
    """Price published epsilons: only the noise decides, for the votes that it was made for.

    For more votes of one person, or a larger order, the divergence may be infinite; persons with no more
    votes still paid.
    """
    columns = (publications.c.id, publications.c.beta, publications.c.sigma)
    known = (func.min(charges.c.votes).label("votes"), func.count().label("paid"))
    statement = _entries_charged(
        asked, "publication", *columns, *known, func.count(charges.c.votes).label("told")
    )
    statement = statement.join(publications, publications.c.id == entries.c.id).group_by(*columns)
    for row in connection.execute(statement):
        covered = row.votes if row.told == row.paid else 1
        yield _publication_amount(SmoothNoise(row.beta, row.sigma), asked.order)
        if asked.raises.since(row.id, covered) > covered:
            yield None


def _publication_amount(noise: SmoothNoise, order: float) -> int | None:
    try:
        return noise.cost(order)
    except InputError:
        return None


def _batches(
    connection: Connection, asked: Repriced, which: ColumnElement[bool] | None = None
) -> Iterator[int | None]:
    """Price batches from plans and tickets; batches under way as if all their queries were answered.

    The price is unknown if the plan or ticket has a version that can no longer be read.
    """
    prices = _Prices(asked)
    statement = _batches_of(asked.party)
    for row in connection.execute(statement if which is None else statement.where(which)):
        answered = row.size if row.state == "ticketed" or row.evaluated else row.answered
        try:
            yield prices.price(row.id, bytes(row.plan), bytes(row.ticket), answered)
        except (OstrakaError, InputError):
            yield None


RULES: Mapping[str, Rule] = {"batch": _batches, "publication": _publications, "receipt": _receipts}
"""The price rule of each kind of entry. A kind without a rule is an error, never free of charge."""


def _entries_charged(asked: Repriced, kind: str, *columns: Any) -> Select[Any]:
    """Select entries of a kind that were charged to the party's units and count for its adjacency."""
    statement = (
        select(*columns)
        .select_from(entries)
        .join(charges, charges.c.entry == entries.c.id)
        .join(unit_table, unit_table.c.id == charges.c.unit)
        .where(entries.c.kind == kind, unit_table.c.party == asked.party)
    )
    return statement.where(unit_table.c.adjacency == "record") if asked.adjacency == "record" else statement


def _batches_of(party: str) -> Select[Any]:
    """Select batches that were charged to a party, and all batches under way, without their answers.

    Answers of a training are as large as its network. `evaluated`: the party was charged the worst case for a
    batch that was not released, or not with its votes.
    """
    paid = exists().where(
        charges.c.entry == batches.c.id, charges.c.unit == unit_table.c.id, unit_table.c.party == party
    )
    evaluated = exists().where(
        evaluations.c.batch == batches.c.id,
        evaluations.c.charged_unix_ms.is_not(None),
        evaluations.c.unit == unit_table.c.id,
        unit_table.c.party == party,
    )
    charged = (batches.c.state == "released") | batches.c.check_digest.is_not(None) | evaluated
    counted = (batches.c.state == "ticketed") | (charged & paid)
    columns = (batches.c.id, batches.c.size, batches.c.state, batches.c.answered, batches.c.ticket)
    return (
        select(*columns, sessions.c.plan, evaluated.label("evaluated"))
        .select_from(batches.join(sessions))
        .where(counted)
    )


class _Prices:
    """Costs of batches to a party's records at one order."""

    def __init__(self, asked: Repriced) -> None:
        self._asked = asked
        self._plan = cache(Plan.parse)
        self._cost = cache(
            lambda mechanism, sensitivity, labels: mechanism.worst_case(
                asked.order, sensitivity, classes=labels
            )
        )

    def price(self, entry: int, plan: bytes, ticket: bytes, answered: int) -> int | None:
        """Return a batch's cost to the party's group that it costs most; None if its votes are unknown.

        Raises:
            OstrakaError: a plan or ticket that this version cannot read.
        """
        if self._plan(plan).adjacency == "label" and self._asked.adjacency == "record":
            return 0
        named = read_ticket(ticket)
        mine = [schedule for schedule in named.schedule if schedule.participant.site == self._asked.party]
        own = [self._asked.raises.since(entry, one.participant.max_votes_per_person) for one in mine]
        if math.inf in own:
            return None
        each = zip(mine, map(int, own), strict=True)
        return max((self._of(plan, one, votes, named.size, answered) for one, votes in each), default=0)

    def _of(self, plan: bytes, schedule: common_pb2.Schedule, own: int, size: int, answered: int) -> int:
        party = schedule.participant
        asked = self._plan(plan)
        labels = asked.classes - len(asked.columns_of(party.abstains))
        most = 0
        for cohort, present in zip(party.cohorts, read_schedule(schedule, size), strict=True):
            given = np.zeros((int(present.sum()), asked.mechanism.answers(labels)), dtype=np.bool_)
            given[:answered] = True
            votes = own * (1 if asked.mechanism.by_record else max(cohort.copies))
            sensitivity = math.ldexp(votes * cohort.weight, -FRACTION_BITS)
            cost = self._cost(asked.mechanism, sensitivity, labels)
            most = max(most, cost.amount(given))
        return most


def recost(tx: Transaction, party: str, votes: int) -> None:
    """Cost the spending of the used units of `party` again, for `votes` of one person in a query.

    A unit that only batches under way may still charge counts as used.
    """
    under_way = _is_under_way(tx.connection)
    rows = [
        row
        for row in units.of_party(tx.connection, party).values()
        if units.budget(row).used or (under_way and row.enforce == "data_dependent")
    ]
    if not rows:
        return
    before = last_entry(tx.connection)
    changes = [_change(tx, row, votes) for row in rows]
    units.store(tx, changes)
    tx.record(
        "votes_raised",
        site=party,
        votes=votes,
        entry=before,
        units=[
            [*units.key_of(row), change["spent"], change["broken_unix_ms"] is not None]
            for row, change in zip(rows, changes, strict=True)
        ],
    )
    found = units.find(tx.connection, map(units.key_of, rows))
    history.add_events(tx, "recosted", found.values(), reason(votes), entry=before, votes=votes)


def reason(votes: int) -> str:
    """Return the text for the recosting in a unit's history."""
    return f"{votes} votes a person"


def _is_under_way(connection: Connection) -> bool:
    """Whether there is a batch that may still be released."""
    return (
        connection.execute(select(batches.c.id).where(batches.c.state == "ticketed").limit(1)).first()
        is not None
    )


def _change(tx: Transaction, row: UnitRow, votes: int) -> dict[str, object]:
    """Return a unit's values. A data-dependent cost cannot be computed again, because its votes are gone."""
    here = spending(tx.connection, row.party, row.adjacency, row.renyi_order, votes)
    spent = max(row.spent, here.at_least)
    known = here.complete and not row.spent_before and row.enforce == "worst_case"
    broken = row.broken_unix_ms
    if broken is None and not (known and spent + row.reserved <= row.budget):
        broken = tx.now_ms
    total = units.data_dependent_total(tx.cipher, row)
    if row.enforce == "worst_case":
        total = max(total, spent)
    return {
        "unit": row.id,
        "spent": spent,
        "overdrawn_to": max(row.overdrawn_to, overdrawn(spent + row.reserved, row.budget)),
        "data_dependent": units.seal(tx.cipher, units.key_of(row), total, row.spent_before, spent),
        "broken_unix_ms": broken,
    }
