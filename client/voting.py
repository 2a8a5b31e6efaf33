"""One batch put to every scheduled party at once; the shares that come back are added up in memory."""

from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field

from client.party_peer import PartyPeer, VoteBatch
from common.errors import OstrakaError
from common.sharing.expansion import expand
from common.sharing.ring import Ring
from common.sharing.shares import add


@dataclass(frozen=True)
class Votes:
    """What came of a batch: seeds by site, which never leave memory, and why the others gave none."""

    seeds: Mapping[str, bytes] = field(repr=False)
    failures: Mapping[str, OstrakaError]

    def total(self, frozen: Iterable[str], rows: int, width: int, ring: Ring) -> bytes:
        """The sum of this side's shares over exactly the frozen parties, as ring bytes (rows x width)."""
        return ring.to_bytes(add([expand(self.seeds[site], rows, width, ring) for site in frozen]))


def collect(peers: Mapping[str, PartyPeer], sites: Iterable[str], batch: VoteBatch, pool: Executor) -> Votes:
    """Ask the `sites` to vote on `batch`, all at once, and wait for every one's seed or failure."""

    def ask(site: str) -> bytes | OstrakaError:
        try:
            return peers[site].vote(batch)
        except OstrakaError as error:
            return error

    asked = list(sites)
    came = dict(zip(asked, pool.map(ask, asked), strict=True))
    return Votes(
        seeds={site: seed for site, seed in came.items() if isinstance(seed, bytes)},
        failures={site: error for site, error in came.items() if isinstance(error, OstrakaError)},
    )
