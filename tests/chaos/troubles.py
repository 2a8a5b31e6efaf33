"""Faults of a simulation other than those of messages and ledger calls, at times drawn in advance."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.wire.contexts import AUDIT_CONTEXT
from ostraka.guardian.ledger import Ledger, LedgerReader, UnitKey, backup, restore
from ostraka.guardian.ledger.log import audit
from ostraka.guardian.ledger.members import parties
from ostraka.guardian.ledger.sessions import endings
from ostraka.guardian.ledger.units import budgets
from ostraka.protos.ostraka.v1 import common_pb2
from tests.chaos.faults import CALM, HORIZON_S
from tests.chaos.guardians import CIPHER
from tests.chaos.members import GROUPS, PARTIES, START, as_clock, members

if TYPE_CHECKING:
    from tests.chaos.world import World

Act = Callable[[Ledger], object]


def plan_troubles(world: World) -> None:
    """Schedule the events that the world's faults name."""

    def some_time(act: Callable[[], None], times: int = 1) -> None:
        def strike() -> None:
            if world.around.faults is not CALM:
                act()

        for _ in range(times):
            world.turns.at(START + world.draws.expovariate(1 / HORIZON_S), strike)

    for party in world.parties.values():
        some_time(party.restart)
    if world.faults.asleep:
        some_time(lambda: _sleep(world), 2)
    if world.faults.superseded:
        some_time(lambda: world.start(world.draws.choice(world.addresses)))
    if world.faults.restored:
        lost = Loss(world)
        saved = START + world.draws.uniform(0, HORIZON_S / 2)
        world.turns.at(saved, lost.save)
        world.turns.at(saved + world.draws.uniform(1, HORIZON_S), lost.strike)
    if world.faults.interfering:
        some_time(lambda: _interfere(world), 2)


class Loss:
    """A ledger that is lost, and restored from an earlier backup."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._saved: tuple[Path, int] | None = None

    def save(self) -> None:
        """Back up the ledger."""
        if self._world.around.generation:
            return
        path = self._world.folder / "backup"
        path.unlink(missing_ok=True)
        with LedgerReader.open_read_only(self._world.where) as ledger:
            backup(ledger, path)
            self._saved = path, ledger.read(audit.head).sequence
        self._world.log("backup")

    def strike(self) -> None:
        """Lose the ledger, restore the backup, and tell all parties to register."""
        if self._saved is None:
            return
        world, (path, sequence) = self._world, self._saved
        world.let_guardians_die()
        world.around.generation += 1
        world.where = world.place()
        restore(path, world.where, clock=as_clock(world.turns), cipher=CIPHER, sign_head=_sign)
        world.around.heads[:] = [head for head in world.around.heads if head.sequence <= sequence]
        world.log(f"the ledger is lost and restored as of audit row {sequence}")
        for address in world.addresses:
            world.start(address)
        for party in world.parties.values():
            world.turns.start(party.register, party, world.draws.uniform(0, 10))


def _sign(payload: bytes) -> common_pb2.Signed:
    return members().guardian.sign(AUDIT_CONTEXT, payload)


def _sleep(world: World) -> None:
    awake = world.guardians()
    if awake:
        world.draws.choice(awake).sleep(world.draws.uniform(5, 60))


def _interfere(world: World) -> None:
    """Make an administrator freeze a unit or suspend a party for a while, or cancel a session."""
    site = world.draws.choice(PARTIES)
    unit = UnitKey(site, GROUPS[site][-1], "record")
    sessions = [session for querier in world.queriers for session in querier.sessions]
    acts: dict[str, list[Act]] = {
        "freeze": [
            lambda ledger: ledger.write(budgets.freeze, unit, frozen=True, reason="chaos"),
            lambda ledger: ledger.write(budgets.freeze, unit, frozen=False, reason="chaos"),
        ],
        "suspend": [
            lambda ledger: ledger.write(parties.set_party, site, "suspended", reason="chaos"),
            lambda ledger: ledger.write(parties.set_party, site, "active", reason="chaos"),
        ],
        "cancel": [lambda ledger: ledger.write(endings.cancel, sessions[-1], reason="chaos")]
        if sessions
        else [],
    }
    when = world.turns.now
    for act in acts[world.draws.choice(list(acts))]:
        world.turns.at(when, partial(_administer, world, act))
        when += world.draws.uniform(1, 8)


def _administer(world: World, act: Act) -> None:
    for guardian in world.guardians()[:1]:
        world.log("an administrator acts")
        try:
            act(guardian.ledger)
        except OstrakaError as exc:
            if exc.code not in (ErrorCode.LEDGER_FENCED, ErrorCode.SESSION_UNKNOWN):
                raise
