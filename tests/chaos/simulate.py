"""Simulations one after the other, on one backend."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.chaos.oracle import problems
from tests.chaos.places import folder, places
from tests.chaos.world import World
from tests.engines import share_compiled_statements

BACKENDS = ("sqlite", "postgresql")
ADDRESSES = {"sqlite": ("g0",), "postgresql": ("g0", "g1")}
"""Guardians of a simulation: as many as one ledger may have at a time."""


@dataclass(frozen=True)
class Simulation:
    """How a simulation ended.

    Attributes:
        seed: its seed.
        batches: number of batches that were asked for.
        answered: number of batches that were answered.
        problems: what did not hold.
        events: what happened, one event a line.
    """

    seed: int
    batches: int
    answered: int
    problems: list[str]
    events: list[str]


def simulate(backend: str, seeds: Iterable[int]) -> Iterator[Simulation]:
    """Yield the simulations of all `seeds`."""
    share_compiled_statements()
    with places(backend) as place, folder() as own:
        for seed in seeds:
            world = World(seed, place, ADDRESSES[backend], own)
            try:
                world.run()
            except Exception as exc:
                world.turns.errors.append(exc)
            records = [record for querier in world.queriers for record in querier.records]
            answered = sum(bool(record.answers) for record in records)
            yield Simulation(seed, len(records), answered, problems(world), world.events)
