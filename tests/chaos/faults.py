"""How often what goes wrong: drawn for each simulation, so that some are calm and some are wild."""

from __future__ import annotations

import random
from dataclasses import dataclass

LATENCY_S = 0.15
CALL_TIMEOUT_S = 8.0
HORIZON_S = 15.0
"""Within how many seconds, on average, what is planned ahead happens."""
RARE, SOME, OFTEN = 0.01, 0.04, 0.12


@dataclass(frozen=True)
class Faults:
    """Chances for each message and each ledger call, and what happens once or not at all.

    Attributes:
        lost: a request is lost; the same chance for a reply.
        doubled: a request comes twice.
        late: a request or its double is late by up to a minute.
        crash: the guardian dies before, within or after a ledger call.
        asleep: a guardian sleeps once in a while, longer than its lease.
        superseded: another guardian takes a SQLite ledger over while this one still runs.
        restored: the ledger is lost and a backup restored.
        vanish: the policy's `on_exhaustion`.
        data_dependent: the policy's `enforce`.
        interfering: administrators freeze units, suspend parties and cancel sessions.
    """

    lost: float
    doubled: float
    late: float
    crash: float
    asleep: bool
    superseded: bool
    restored: bool
    vanish: bool
    data_dependent: bool
    interfering: bool

    @classmethod
    def drawn(cls, draws: random.Random) -> Faults:
        """Draw a separate mixture for each seed."""
        return cls(
            lost=draws.choice([0, RARE, SOME, OFTEN]),
            doubled=draws.choice([0, SOME, OFTEN, 0.3]),
            late=draws.choice([0, RARE, SOME]),
            crash=draws.choice([0, 0.003, 0.01, 0.03]),
            asleep=draws.random() < 0.4,
            superseded=draws.random() < 0.3,
            restored=draws.random() < 0.25,
            vanish=draws.random() < 0.5,
            data_dependent=draws.random() < 0.2,
            interfering=draws.random() < 0.4,
        )


CALM = Faults(0, 0, 0, 0, False, False, False, False, False, False)
"""Nothing goes wrong any more."""
