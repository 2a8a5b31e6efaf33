"""A training run by its lead against a real guardian, with hand-made updates."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.common.identity import Role
from ostraka.common.mechanism import DpTtac, Recipe, Ttac
from ostraka.common.plan.plan import Plan
from ostraka.common.sharing.ring import RingArray
from ostraka.common.sharing.shares import expand
from ostraka.guardian.noise import ExactNoise
from ostraka.protos.ostraka.v1 import guardian_pb2, guardian_pb2_grpc
from tests.guardian.federation import PARTIES, RING, Calls, Federation, plan

D = 7
RECIPE = Recipe(model="mlp", parameters=D, steps=1, batch_size=8, learning_rate=0.1)
TTAC = Ttac(recipe=RECIPE)
DP = DpTtac(recipe=RECIPE, radius=1.0, sigma=30.0)
BY_PARTY = DpTtac(recipe=RECIPE, clip="party", radius=1.0, sigma=30.0)
ALLOWING = 'enforce = "worst_case"\nmin_sigma = 0.5\nmin_quorum = 2\nmechanisms = ["ttac", "confident"]\n'
ROUNDS = 4

Steps = NDArray[np.int64]


class Lead(Calls):
    """Calls to a guardian in which party `leader` is the querying party."""

    def __init__(self, federation: Federation, address: str, leader: str = "a") -> None:
        super().__init__(federation, address)
        self.leader = leader

    @property
    def query(self) -> guardian_pb2_grpc.GuardianStub:
        return self.stub(self.leader, Role.PARTY)

    def join_all(self, together: str, epsilon: float = 1000.0) -> None:
        """Register every party's teachers as learning in this way, and give each party a budget."""
        for site in PARTIES:
            self.register(site, together=together)
            self.budget(site, epsilon)

    def begin(self, asked: Plan) -> str:
        """Open the session of a training."""
        return self.open(asked).session_id

    def halves(
        self, session: str, batch: int, updates: Steps, sites: Sequence[str] = PARTIES
    ) -> dict[str, RingArray]:
        """Have every site submit its half of its update (a row of `updates`); return the lead's halves."""
        kept = {}
        for site, update in zip(sites, updates, strict=True):
            mine = expand(site.encode() * 32, 1, len(update), RING)
            self.submit(site, session, batch, RING.wrap(update[None]) - mine)
            kept[site] = mine
        return kept

    def trained(self, session: str, batch: int, updates: Steps, sites: Sequence[str] = PARTIES) -> RingArray:
        """Return the lead's sum of a round in which every site took part."""
        kept = self.halves(session, batch, updates, sites)
        assert list(self.prepare(session, batch, sites).frozen) == sorted(sites)
        return RING.sum(kept.values())

    def sum(self, session: str, batch: int, total: RingArray) -> Steps:
        """Return the release of a round, in lattice steps."""
        replies = self.replies(session, batch, total)
        assert not any(reply.answers for reply in replies)
        return lifted(b"".join(reply.update.data for reply in replies))

    def released(self, session: str, batch: int) -> Steps:
        """Return the release of a round, requested again."""
        request = guardian_pb2.SettleBatchRequest(session_id=session, batch_id=batch)
        return lifted(b"".join(chunk.data for chunk in self.query.ReleasedUpdate(request)))

    def round(self, session: str, batch: int, updates: Steps) -> Steps:
        """Run a round of all parties, from its ticket to its sum."""
        self.ticket(session, batch, 1)
        return self.sum(session, batch, self.trained(session, batch, updates))


class Recording(ExactNoise):
    """Keeps every Gaussian draw except those of one dimension, which are timed and dropped at the start.

    A guardian draws in two threads, in no fixed order, so draws are also kept by sigma.
    """

    def __init__(self) -> None:
        super().__init__()
        self.drawn: list[Steps] = []
        self.by_sigma: dict[float, Steps] = {}

    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> Steps:
        drawn = super().gaussian(sigma, shape)
        if drawn.ndim > 1:
            self.drawn.append(drawn)
            self.by_sigma[sigma] = drawn
        return drawn


def lifted(data: bytes) -> Steps:
    """Return lattice steps as they were sent."""
    return np.frombuffer(data, "<i8").astype(np.int64)


def training(mechanism: Ttac | DpTtac = DP, **changes: Any) -> Plan:
    """Return the plan of a training of all parties."""
    rounds = {"mechanism": mechanism, "queries": ROUNDS, "batch_size": 1}
    return plan(**rounds | changes)


def updates(sites: int = len(PARTIES), parameters: int = D, seed: int = 1) -> Steps:
    """Draw updates of parties, (sites, parameters) in lattice steps of both signs."""
    return np.random.default_rng(seed).integers(-(2**20), 2**20, (sites, parameters))
