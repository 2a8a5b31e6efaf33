"""Batches of a history: tickets, releases, data-dependent costs, evaluations and failures, as in sessions."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import cast

import numpy as np

from ostraka.common.mechanism import Confident, DpTtac, GnMax, Mechanism, Moments, Recipe
from ostraka.common.plan.plan import Plan, digest
from ostraka.common.plan.signed_lists import read_ticket, sign_list
from ostraka.common.sharing import FRACTION_BITS
from ostraka.common.wire.contexts import GRANT_CONTEXT
from ostraka.guardian.accounting.smooth_noise import DISTANCES, VoteTotal, kind_of
from ostraka.guardian.ledger import Charge, Ledger, StoredManifest, StoredSession, UnitKey
from ostraka.guardian.ledger.sessions import charging, endings, evaluations, releases, sessions
from ostraka.guardian.ledger.units import balances
from ostraka.guardian.sessions.admission import all_cohorts, digest_of, parse_manifest
from ostraka.guardian.sessions.batch_opening import Asked, Opening
from ostraka.guardian.sessions.cohorts import Attendance, cohort_messages
from ostraka.guardian.sessions.payers import Payer, payers, reservation, worst_charges
from ostraka.guardian.sessions.registry import Session
from ostraka.protos.ostraka.v1 import common_pb2
from tests.chaos.histories.federation import POLICIES, Delayed, Federation, Opened, Outcome
from tests.chaos.histories.halting import Halting
from tests.chaos.histories.truth import Batch
from tests.chaos.members import CLASSES, TASK, members

_TRAINING = DpTtac(
    recipe=Recipe(model="mlp", parameters=7, steps=1, batch_size=8, learning_rate=0.1), radius=1.0, sigma=30.0
)
_SUMS = Moments(columns=4, codes=2, sigma=25.0, gram_sigma=30.0)
_MECHANISMS: tuple[Mechanism, ...] = (
    GnMax(sigma=20.0),
    GnMax(sigma=8.0),
    Confident(sigma1=20.0, sigma2=10.0, threshold=5.0),
    _TRAINING,
)
_LATER = 0.2
_MOST = 4
"""Maximum number of queries in a batch."""
_WHOLE = 2**FRACTION_BITS
_FIRST_BIT = 8
"""First bit for batches in the change of a total; each batch has its own bit, so a sum identifies its
batches."""


def ticket(made: Federation, draws: random.Random) -> str:
    """Ask all parties that are present, or some of them, for a batch."""
    ledger = made.ledger(draws)
    sites = sorted(name for name, site in made.sites.items() if not site.away and draws.random() < 0.85)
    stored = {site: made.sites[site].stored() for site in sites}
    if not sites:
        return "a batch of nobody"
    session = _session(made, ledger, stored, _drawn_plan(draws, sites), draws)
    number, size, plan = next(made.numbers), draws.randint(1, session.plan.batch_size), session.plan
    halting = Halting(ledger)
    opening = Opening(cast(Ledger, halting), members().guardian, POLICIES, made.clock)
    halting.until_written(opening.open, Asked(session, number, size, ()))
    *_, content, held = halting.asked
    voting = read_ticket(content)
    cohorts = all_cohorts(
        plan,
        session.grant.participants,
        {site: parse_manifest(manifest) for site, manifest in stored.items()},
    )
    attendance = Attendance.of_ticket(voting, cohorts)
    versions = {site: made.sites[site].declared.version for site in attendance.sites}

    def store() -> None:
        halting.write_now()
        # A party that has switched to other teachers refuses the ticket.
        there = {site for site, version in versions.items() if made.sites[site].declared.version == version}
        groups = {record: group for record, group in made.groups().items() if record.party in there}
        batch = Batch(session.session_id, number, plan, voting, groups)
        made.truth.batches.append(batch)
        made.open.append(Opened(batch, ledger, attendance, frozenset(held)))
        for site in there:
            made.sites[site].answer(batch)

    kind = f"{plan.mechanism.kind} by {plan.adjacency}, {plan.encoding}, variant {plan.variant}"
    return begin(made, draws, f"batch {number} ({kind}) of {_shown(held)}", store)


def release(made: Federation, draws: random.Random) -> str:
    """Release one batch, with all the votes that were given, or some of them."""
    found = [opened for opened in made.open if opened.batch.state == "ticketed"]
    if not found:
        return "nothing to release"
    opened = draws.choice(found)
    opened.outcome = opened.outcome or _outcome(opened, draws)
    if opened.outcome is None:
        return f"batch {opened.batch.number} has no votes"
    frozen, paying, answered, charges = opened.outcome
    batch, given = opened.batch, int(answered.any(axis=1).sum())
    request = hashlib.sha256(str(batch.number).encode()).digest()

    def store() -> None:
        opened.ledger.write_session(
            batch.session, releases.release, batch.number, request, b"answers", charges, answered=given
        )
        if batch.state == "released":
            return
        batch.state, batch.voted, batch.answered = "released", frozen, answered
        if not batch.plan.releases_sums:
            figures = _figures(opened, paying, charges)
            if draws.random() < 0.8:
                figures.write()
            else:
                made.delayed.append(figures)

    return begin(made, draws, f"release of batch {batch.number} with votes of {sorted(frozen)}", store)


def settle(made: Federation, draws: random.Random) -> str:
    """Give up a batch."""
    found = [opened for opened in made.open if opened.batch.state == "ticketed"]
    if not found:
        return "nothing to settle"
    opened = draws.choice(found)
    opened.ledger.write_session(opened.batch.session, endings.settle, opened.batch.number)
    opened.batch.state = "dead"
    return f"batch {opened.batch.number} is given up"


def evaluate(made: Federation, draws: random.Random) -> str:
    """Let a party answer encrypted queries."""
    found = [o for o in made.open if o.batch.state == "ticketed" and o.batch.plan.encoding == "ckks"]
    sites = sorted({record.party for o in found for record in o.batch.groups})
    if not sites:
        return "nothing to evaluate"
    opened, site = draws.choice(found), draws.choice(sites)
    own = opened.attendance.of([site])
    paying = payers(opened.batch.plan, own, opened.ledger.read(balances.find_budgets, opened.units))
    if site not in {record.party for record in opened.batch.groups} or not paying:
        return f"{site} has nothing to evaluate"
    worst = {payer.budget.key: reservation(opened.batch.plan, payer) for payer in paying}
    opened.ledger.write_session(opened.batch.session, evaluations.record, opened.batch.number, site, worst)
    opened.batch.evaluated.add(site)
    return f"{site} evaluates batch {opened.batch.number}"


def begin(made: Federation, draws: random.Random, what: str, write: Callable[[], object]) -> str:
    """Make a change now, or delay it."""
    if draws.random() < _LATER:
        made.delayed.append(Delayed(what, write))
        return f"{what}: begun"
    write()
    return what


def _session(
    made: Federation, ledger: Ledger, stored: Mapping[str, StoredManifest], plan: Plan, draws: random.Random
) -> Session:
    """Return a session with these parties by this plan; an open one if there is one."""
    key = (id(ledger), plan, *((site, digest_of(manifest)) for site, manifest in stored.items()))
    if key not in made.sessions:
        number = next(made.numbers)
        asked = plan.model_copy(update={"nonce": number.to_bytes(16, "big")})
        content, name = asked.serialize(), f"session {number}"
        grant = common_pb2.Grant(
            session_id=name,
            plan_digest=digest(content),
            participants=[_participant(manifest, asked.mechanism, draws) for manifest in stored.values()],
            enforce="worst_case",
            bound="theorem6",
            expires_unix_s=2**33,
        )
        kept = sign_list(members().guardian, GRANT_CONTEXT, grant).SerializeToString()
        session = StoredSession(name, "querier", content, digest(content), kept, queries=asked.queries)
        ledger.write(sessions.open_session, session)
        made.sessions[key] = Session(name, session.querier, "open", asked, grant)
    return made.sessions[key]


def _participant(
    stored: StoredManifest, mechanism: Mechanism, draws: random.Random
) -> common_pb2.Participant:
    manifest = parse_manifest(stored)
    cohorts = cohort_messages(manifest, mechanism)
    for cohort in cohorts:
        cohort.weight = draws.choice([_WHOLE, _WHOLE, _WHOLE, _WHOLE // 2, 3 * _WHOLE // 2])
    return common_pb2.Participant(
        site=stored.site,
        teachers=sum(cohort.teachers for cohort in cohorts),
        records=sum(group.records for group in manifest.groups),
        max_votes_per_person=manifest.max_votes_per_person,
        manifest_sha256=digest_of(stored),
        cohorts=cohorts,
        head=manifest.head,
    )


def _drawn_plan(draws: random.Random, sites: Sequence[str]) -> Plan:
    mechanism, rare = draws.choice(_MECHANISMS), [draws.random() < 0.2 for _ in range(3)]
    by_label, encrypted, vanishing = [mechanism is not _TRAINING and each for each in rare]
    if mechanism is _TRAINING and len(sites) % 2:
        # Derived instead of drawn, so that the draws of other histories stay the same.
        mechanism = _SUMS
    return _plan(mechanism, by_label, encrypted, vanishing, tuple(sites))


def _shown(units: Iterable[UnitKey]) -> str:
    return ", ".join("/".join(unit) for unit in units)


@cache
def _plan(
    mechanism: Mechanism, by_label: bool, encrypted: bool, vanishing: bool, sites: tuple[str, ...]
) -> Plan:
    return Plan(
        nonce=bytes(16),
        task_digest=TASK,
        classes=CLASSES,
        mechanism=mechanism,
        parties=sites,
        quorum=1,
        queries=1000,
        batch_size=1 if mechanism in (_TRAINING, _SUMS) else _MOST,
        adjacency="label" if by_label else "record",
        encoding="ckks" if encrypted else "plain",
        variant="vanishing" if vanishing else "none",
    )


def _outcome(opened: Opened, draws: random.Random) -> Outcome | None:
    """Draw which voting units are frozen and which queries are answered; None if no unit voted."""
    batch, plan = opened.batch, opened.batch.plan
    there = sorted({record.party for record in batch.groups})
    frozen = frozenset(site for site in there if draws.random() < 0.9)
    if not frozen:
        return None
    attendance = opened.attendance.of(frozen)
    paying = payers(plan, attendance, opened.ledger.read(balances.find_budgets, opened.units))
    answered = np.ones((batch.ticket.size, plan.mechanism.answers(plan.classes)), dtype=np.bool_)
    if isinstance(plan.mechanism, Confident):
        answered[:, 0] = [draws.random() < 0.6 for _ in range(batch.ticket.size)]
    return Outcome(frozen, paying, answered, worst_charges(plan, paying, answered))


def _figures(opened: Opened, charged: Sequence[Payer], charges: Sequence[Charge]) -> Delayed:
    """Return the change that stores the totals of a released batch: half of its cost."""
    batch = opened.batch
    moved = max(payer.influence.sensitivity for payer in charged)
    worst = {charge.unit: charge.worst_case for charge in charges}
    changes = (1 << (_FIRST_BIT + batch.number), *[0] * (DISTANCES - 1))
    totals = {}
    for payer in charged:
        key, order = payer.budget.key, payer.budget.order
        kind = kind_of(order, payer.influence.sensitivity, moved, payer.queries, payer.abstains)
        totals[key] = VoteTotal(order, kind, worst[key] // 2, changes).to_bytes()

    def store() -> None:
        opened.ledger.write_session(batch.session, charging.store_figures, batch.number, worst, totals)

    return Delayed(f"figures of batch {batch.number}", store)


def batches_in(made: Federation, changes: Sequence[int]) -> tuple[Batch, ...]:
    """Return the batches in a total, identified by how much the nearest neighbours change it."""
    return tuple(batch for batch in made.truth.batches if changes[0] >> (_FIRST_BIT + batch.number) & 1)
