"""Members of every simulation, with real certificates made once per process, and cheap randomness."""

from __future__ import annotations

import random
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.common.clock import Clock, ManualClock
from ostraka.common.identity import CertificateAuthority, Credentials, Identity, Role
from ostraka.common.mechanism import GnMax, Moments
from ostraka.common.plan.choices import ENCODING, VARIANT
from ostraka.common.plan.plan import Plan
from ostraka.common.sharing import FRACTION_BITS
from ostraka.common.sharing.ring import Ring
from ostraka.common.wire.contexts import MANIFEST_CONTEXT
from ostraka.guardian.noise import DrawnNoise
from ostraka.guardian.policy import Policy
from ostraka.protos.ostraka.v1 import common_pb2

FEDERATION = "chaos"
START = 1_900_000_000.0
TASK = bytes(range(32))
CLASSES = 3
RING = Ring(32)
ORDER = 8.0
DELTA = 1e-5
PARTIES = ("a", "b", "c")
QUERIERS = ("p", "q")
GROUPS = {"a": ("all",), "b": ("low", "high"), "c": ("all",)}
"""The cohorts of each party, each of one group."""


@dataclass(frozen=True)
class Members:
    """Credentials by site and role, and every party's signed manifest."""

    credentials: dict[tuple[str, Role], Credentials]
    manifests: dict[str, common_pb2.Signed]

    @property
    def guardian(self) -> Credentials:
        return self.credentials["guardian", Role.GUARDIAN]

    def party(self, site: str) -> Credentials:
        return self.credentials[site, Role.PARTY]

    def querier(self, site: str) -> Identity:
        return self.credentials[site, Role.QUERY].identity


@lru_cache(maxsize=1)
def members() -> Members:
    """Everybody's certificates, valid when simulations start."""
    clock = ManualClock(START)
    names = [
        ("guardian", Role.GUARDIAN),
        *((s, Role.PARTY) for s in PARTIES),
        *((s, Role.QUERY) for s in QUERIERS),
    ]
    with tempfile.TemporaryDirectory() as folder:
        authority = CertificateAuthority.create(FEDERATION, clock)
        issued = {}
        for site, role in names:
            own = Path(folder) / f"{site}-{role}"
            own.mkdir()
            issued[site, role] = authority.issue(Identity(FEDERATION, site, role), own, clock)
    manifests = {
        site: issued[site, Role.PARTY].sign(MANIFEST_CONTEXT, _manifest(site).SerializeToString())
        for site in PARTIES
    }
    return Members(issued, manifests)


def _manifest(site: str) -> common_pb2.Manifest:
    groups = [common_pb2.Group(name=name, records=50, teachers=5, copies=1) for name in GROUPS[site]]
    return common_pb2.Manifest(
        site=site,
        task_digest=TASK,
        groups=groups,
        max_votes_per_person=1 + (site == "c"),
        training="chaos",
        head="linear",
    )


def plan(draws: random.Random, variant: VARIANT, quorum: int, batch_size: int) -> Plan:
    """Draw a plan with its own noise, so that its cost differs from that of every other plan.

    In encrypted plans, parties vote as in others, but first report that they have evaluated. One plan in four
    has sums over records instead of votes, chosen by its nonce so that all other draws stay the same.
    """
    nonce, sigma = draws.randbytes(16), draws.uniform(4, 12)
    encoding: ENCODING = draws.choice(["plain", "plain", "ckks"])
    sums = nonce[0] % 4 == 0
    return Plan(
        nonce=nonce,
        task_digest=TASK,
        classes=CLASSES,
        mechanism=Moments(columns=2, codes=2, sigma=sigma) if sums else GnMax(sigma=sigma),
        parties=PARTIES,
        quorum=quorum,
        queries=40,
        batch_size=1 if sums else batch_size,
        variant=variant,
        ring_bits=64 if sums else 32,
        encoding="plain" if sums else encoding,
    )


class CheapNoise:
    """Replaces `NoisePrefetcher` and its source; every draw is new, so a second draw shows."""

    def __init__(self, seed: int) -> None:
        self._draws = np.random.default_rng(seed)

    def prepare(self, _: object) -> DrawnNoise:
        return DrawnNoise(self, {})

    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        steps = self._draws.normal(0, sigma * 2**FRACTION_BITS, shape)
        return np.asarray(np.rint(steps), dtype=np.int64)

    def laplace(self, scale: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        return self.gaussian(scale, shape)

    def uniform(self, shape: tuple[int, ...]) -> NDArray[np.uint64]:
        return self._draws.integers(0, 2**64 - 1, shape, dtype=np.uint64)


@dataclass(frozen=True)
class FixedPolicy:
    """The policy of one simulation."""

    policy: Policy

    def current(self) -> Policy:
        return self.policy

    def of(self, applied: object) -> Policy:
        return self.policy

    def check(self, policy: Policy) -> None:
        """Allow everything."""


@dataclass(frozen=True)
class SkewedClock:
    """A machine's clock that is some seconds off."""

    true: Any
    ahead_s: float

    def now(self) -> float:
        return float(self.true.now) + self.ahead_s


def as_clock(turns: Any, ahead_s: float = 0.0) -> Clock:
    """Return the clock of a machine in the simulation."""
    return SkewedClock(turns, ahead_s)
