"""How often each fault occurs: drawn for each simulation, so that some are calm and some are wild."""

from __future__ import annotations

import random
from dataclasses import dataclass

LATENCY_S = 0.15
CALL_TIMEOUT_S = 8.0
HORIZON_S = 15.0
"""Average number of seconds within which planned events happen."""
RARE, SOME, OFTEN = 0.01, 0.04, 0.12


@dataclass(frozen=True)
class Faults:
    """Probabilities of faults for each message and ledger call, and events that happen once at most.

    Attributes:
        lost: a request is lost; a reply is lost with the same probability.
        doubled: a request arrives twice.
        late: a request or its duplicate arrives up to a minute late.
        crash: the guardian dies before, during or after a ledger call.
        asleep: a guardian occasionally sleeps for longer than its lease.
        superseded: another guardian takes over a SQLite ledger while this one still runs.
        restored: the ledger is lost and a backup is restored.
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
        """Draw another mixture of faults for each seed."""
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
"""No faults."""
