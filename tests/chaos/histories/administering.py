"""What parties and administrators do in a history: registrations, budgets, publications, losses."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, cast
from unittest import mock

from ostraka.common.errors import OstrakaError
from ostraka.common.privacy.filters import filter_text, holds_at
from ostraka.common.rpc.peers import CLAIM
from ostraka.guardian.accounting.smooth_noise import SmoothNoise
from ostraka.guardian.admin.publication_admin import Publishing
from ostraka.guardian.ledger import Budget, Ledger, UnitKey, backup
from ostraka.guardian.ledger.units import budgets, publications
from ostraka.protos.ostraka.v1 import admin_pb2
from tests.chaos.histories.asking import batches_in, begin
from tests.chaos.histories.federation import POLICIES, Federation, terms
from tests.chaos.histories.halting import Halting
from tests.chaos.histories.sites import NAMES, Declared, Site
from tests.chaos.histories.truth import Batch, Publication
from tests.chaos.members import CheapNoise, members

_NOISE = CheapNoise(0)


class _Administrator:
    """A call by an administrator, who is identified without TLS."""

    def auth_context(self) -> dict[str, Any]:
        return {}

    def invocation_metadata(self) -> list[tuple[str, str]]:
        return [(CLAIM, "ostraka://history/ops/admin")]


# Parties


def register(made: Federation, draws: random.Random) -> str:
    """Make a party declare more votes of one person, or fewer from now on."""
    site = _some_site(made, draws)
    votes = draws.choice([v for v in (1, 2, 3) if v != site.declared.votes])
    declared = replace(site.declared, votes=votes, version=site.declared.version + 1)
    _declare(made, site, declared, made.ledger(draws))
    return f"{site.name} registers {declared}"


def regroup(made: Federation, draws: random.Random) -> str:
    """Make a party regroup its records: they move to new groups, or to groups that spent no less."""
    site, ledger = _some_site(made, draws), made.ledger(draws)
    before = made.budgets()
    declared = _regrouped(made, site, draws, before)
    entering = [name for name in declared.names if name not in site.declared.names]
    early = draws.random() < 0.3
    told = _give_budgets(made, ledger, site, entering, draws) if early else []
    _promise(made, site, declared, before)
    _declare(made, site, declared, ledger)
    told += [] if early else _give_budgets(made, ledger, site, entering, draws)
    return f"{site.name} registers {declared}{''.join(told)}"


def come_back(made: Federation, draws: random.Random) -> str:
    """Make a party register at a restored ledger and send it all receipts."""
    away = [site for site in made.sites.values() if site.away]
    if not away:
        return regroup(made, draws)
    site, ledger = draws.choice(away), made.ledger(draws)
    identity = members().party(site.name).identity
    registered = made.registrar(ledger).register(identity, site.registration())
    owing = {UnitKey(site.name, receipt.group, receipt.adjacency) for receipt in site.receipts}
    told = _give_budgets(made, ledger, site, site.declared.names, draws, owing)
    what = f"{site.name} registers {site.declared} at the restored ledger{''.join(told)}, and reconciles"
    if not registered.reconcile:
        site.away = False
        return what
    halting = Halting(ledger)
    registrar = made.registrar(cast(Ledger, halting))
    halting.until_written(registrar.reconcile, identity, [site.reconciliation()])

    def store() -> None:
        halting.write_now()
        site.away = False

    return begin(made, draws, what, store)


def _declare(made: Federation, site: Site, declared: Declared, ledger: Ledger) -> None:
    before = site.declared
    kept = dict(site.at)
    site.declare(declared)
    try:
        made.registrar(ledger).register(members().party(site.name).identity, site.registration())
    except OstrakaError:
        site.declared, site.at = before, kept
        raise
    if declared.votes > before.votes:
        made.truth.raise_votes(site.name, declared.votes)


def _regrouped(made: Federation, site: Site, draws: random.Random, before: dict[UnitKey, Budget]) -> Declared:
    """Draw other groups; records of removed ones join new groups, groups that spent no less, or none."""
    old = site.declared
    wanted = set(draws.sample(NAMES, draws.randint(1, 3)))
    entering = sorted(wanted - set(old.names))
    groups = {}
    for record, last in site.at.items():
        current = old.groups.get(record.number)
        stays = current is not None and current in wanted
        allowed = [name for name in old.names if name in wanted and _may_move(site, last, name, before)]
        if current is not None and stays and (not entering or draws.random() < 0.7):
            groups[record.number] = current
        elif entering:
            groups[record.number] = draws.choice(entering)
        elif allowed:
            groups[record.number] = draws.choice(allowed)
    mixed = draws.random() < 0.3
    if not groups:
        return replace(old, version=old.version + 1)
    copies = draws.choice([1, 2]) if mixed else 1
    return Declared(groups, old.votes, copies, mixed, old.version + 1)


def _may_move(site: Site, last: str, name: str, before: dict[UnitKey, Budget]) -> bool:
    """Whether records of a group may join another group of the party: one that spent no less."""
    if last == name:
        return True
    record = before.get(UnitKey(site.name, last, "record"))
    if record is None:
        # Nothing shows what the records of a group without a budget spent before, so there is no comparing.
        return not any(budget.used for unit, budget in before.items() if unit.party == site.name)
    for adjacency in ("record", "label"):
        source = before.get(UnitKey(site.name, last, adjacency), record)
        target = before.get(UnitKey(site.name, name, adjacency))
        if not source.used or target is None:
            continue
        less = target.spent + target.spent_before < source.spent + source.reserved + source.spent_before
        if less or not holds_at(source.order, target.order) or source.broken_unix_ms is not None:
            return False
        if target.epsilon > source.epsilon:
            return False
    return True


def _promise(made: Federation, site: Site, declared: Declared, before: dict[UnitKey, Budget]) -> None:
    """Note what was promised to records that move to another group."""
    for record, last in site.at.items():
        if declared.groups.get(record.number, last) != last:
            for adjacency in ("record", "label"):
                budget = before.get(UnitKey(site.name, last, adjacency))
                if budget is not None and budget.used:
                    least = made.promised.get((record, adjacency), budget.epsilon)
                    made.promised[record, adjacency] = min(least, budget.epsilon)


def _give_budgets(
    made: Federation,
    ledger: Ledger,
    site: Site,
    names: Sequence[str],
    draws: random.Random,
    surely: Collection[UnitKey] = (),
) -> list[str]:
    """Set missing budgets: always those of `surely`, usually those of records, seldom those of labels."""
    units = [UnitKey(site.name, name, adjacency) for name in names for adjacency in ("record", "label")]
    known = made.budgets()
    missing = [unit for unit in sorted({*units, *surely}) if unit not in known]
    return [
        _set_budget(made, ledger, unit, draws)
        for unit in missing
        if unit in surely or draws.random() < (0.9 if unit.adjacency == "record" else 0.2)
    ]


# Administrators


def set_budget(made: Federation, draws: random.Random) -> str:
    """Set a budget of a group, or of its labels."""
    site = _some_site(made, draws)
    adjacency = "label" if draws.random() < 0.7 else "record"
    unit = UnitKey(site.name, draws.choice([*site.declared.names, draws.choice(NAMES)]), adjacency)
    budget = made.budgets().get(unit)
    ledger = made.ledger(draws)
    if budget is None:
        return "a new budget" + _set_budget(made, ledger, unit, draws)
    epsilon = budget.epsilon * draws.choice([0.5, 2.0])
    if epsilon < budget.epsilon:
        lower = replace(terms(draws), epsilon=epsilon, delta=budget.delta, order=budget.order)
        ledger.write(budgets.set_budget, unit, lower)
    else:
        ledger.write(
            budgets.raise_budget,
            unit,
            epsilon_before=budget.epsilon,
            epsilon=epsilon,
            number=budget.agreements,
            agreement=b"agreed",
            reason="a history",
        )
    return f"{'/'.join(unit)} has epsilon {epsilon} from now on"


def withdraw(made: Federation, draws: random.Random) -> str:
    """Withdraw the consent of a group, or freeze or unfreeze it."""
    unit, budget = draws.choice(sorted(made.budgets().items()))
    ledger = made.ledger(draws)
    if budget.state == "withdrawn":
        ledger.write(
            budgets.consent_again,
            unit,
            number=budget.agreements,
            agreement=b"agreed",
            reason="a history",
        )
        return f"{'/'.join(unit)} consents again"
    if draws.random() < 0.5:
        ledger.write(budgets.withdraw, unit, reason="a history")
        return f"{'/'.join(unit)} is withdrawn"
    frozen = budget.state == "active"
    ledger.write(budgets.freeze, unit, frozen=frozen, reason="a history")
    return f"{'/'.join(unit)} is {'frozen' if frozen else 'thawed'}"


def renew(made: Federation, draws: random.Random) -> str:
    """Begin another period for some budgets."""
    units = [unit for unit in sorted(made.budgets()) if draws.random() < 0.5]
    made.ledger(draws).write(budgets.renew, units, 0)
    return f"another period of {', '.join('/'.join(unit) for unit in units)}"


def publish(made: Federation, draws: random.Random) -> str:
    """Publish an epsilon of a unit."""
    charged = {unit for opened in made.open if opened.batch.state == "released" for unit in opened.units}
    unit = draws.choice(sorted(charged or made.budgets()))
    request = admin_pb2.PublishEpsilonRequest(
        party=unit.party, group=unit.group, adjacency=unit.adjacency, reason="a history"
    )
    # A history spends little, and a publication that costs more than everything spent so far is refused.
    request.beta, request.sigma = 0.001, 1000.0
    if draws.random() < 0.2:
        request.beta, request.sigma = draws.choice([(0.01, 20.0), (0.001, 100.0)])
    halting = Halting(made.ledger(draws))
    service = Publishing(  # type: ignore[abstract] # by its stubs, not by what it is
        cast(Ledger, halting), POLICIES, members().guardian, made.clock, "ostraka", _NOISE
    )
    seen: list[Sequence[int]] = []
    with mock.patch.object(SmoothNoise, "publish", _publishing(seen)):
        halting.until_written(service.PublishEpsilon, request, _Administrator())
    what = f"publication of {'/'.join(unit)}"
    if not halting.asked:
        return f"{what} again"
    asked, changes = cast(publications.Publication, halting.asked[-1]), seen[-1]

    def store() -> None:
        told = {published.statement for published in made.truth.publications}
        if halting.write_now() == asked.statement and asked.statement not in told:
            noise = SmoothNoise(asked.beta, asked.sigma)
            published = Publication(unit, noise, batches_in(made, changes), asked.statement)
            _check_published(made, published)
            made.truth.publications.append(published)

    numbers = [batch.number for batch in batches_in(made, changes)]
    return begin(made, draws, f"{what} (batches {numbers})", store)


def _publishing(seen: list[Sequence[int]]) -> Callable[..., int]:
    """Return a function that publishes a total unchanged and records how much neighbours change it."""

    def publish(noise: SmoothNoise, total: int, changes: Sequence[int], gaussian: object) -> int:
        seen.append(changes)
        return total

    return publish


def _check_published(made: Federation, published: Publication) -> None:
    """Note what must not be published: votes whose influence grew or whose units forbid it."""
    known, what = made.budgets(), f"an epsilon of {'/'.join(published.unit)} was published of votes of"
    for batch in published.batches:
        for record in batch.groups:
            if not published.has_vote(batch, record):
                continue
            if batch.influence(record, batch.votes) > batch.moved:
                made.problems.append(f"{what} {record} in batch {batch.number}, whose influence grew")
            for adjacency in ("record", "label"):
                unit = UnitKey(record.party, made.sites[record.party].at[record], adjacency)
                if unit in known and not _lets_publish(known[unit], batch):
                    state = f"{'/'.join(unit)} is {known[unit].state}"
                    made.problems.append(f"{what} {record} in batch {batch.number}, and {state}")


def _lets_publish(budget: Budget, batch: Batch) -> bool:
    """Whether a unit's state allows publishing votes of its records: consent covers all use of them."""
    charged = budget.key.adjacency == "label" or batch.plan.adjacency == "record"
    return budget.state == "active" or (budget.state == "frozen" and not charged)


# Losses


def save(made: Federation, draws: random.Random) -> str:
    """Write a backup."""
    path = made.folder / "backup.db"
    path.unlink(missing_ok=True)
    backup(made.ledger(draws), path)
    made.backup = path, len(made.truth.publications)
    return "a backup"


def lose(made: Federation, draws: random.Random) -> str:
    """Lose the ledger and restore its backup."""
    if made.backup is None:
        return save(made, draws)
    made.restore()
    return "the ledger is lost, and its backup restored"


def take_over(made: Federation, draws: random.Random) -> str:
    """Start a guardian that replaces one that keeps running."""
    made.take_over()
    return "another guardian takes over"


def go_on(made: Federation, draws: random.Random) -> str:
    """Finish a delayed change."""
    if not made.delayed:
        return "nothing to finish"
    delayed = made.delayed.pop(draws.randrange(len(made.delayed)))
    delayed.write()
    return f"{delayed.what}: done"


def _some_site(made: Federation, draws: random.Random) -> Site:
    """Return a party that is present; usually the same one, so that much happens to it."""
    there = [site for site in made.sites.values() if not site.away]
    return there[0] if draws.random() < 0.6 else draws.choice(there)


def _set_budget(made: Federation, ledger: Ledger, unit: UnitKey, draws: random.Random) -> str:
    """Set a new budget and return its description; the ledger may refuse it."""
    promise = terms(draws)
    name = f"; {'/'.join(unit)} gets epsilon {promise.epsilon:g}, {filter_text(promise.order)}"
    try:
        ledger.write(budgets.set_budget, unit, promise)
    except OstrakaError as exc:
        return f"{name}: {exc.code}"
    return name
