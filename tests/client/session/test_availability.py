"""Parties that failed are left out, and tried again after some batches."""

from collections.abc import Iterable, Mapping

from ostraka.client.session.availability import TRY_AGAIN_AFTER, Availability
from ostraka.common.errors import ErrorCode, OstrakaError

GONE = OstrakaError(ErrorCode.PARTY_UNREACHABLE, "Nobody answers.")
SITES = ("a", "b", "c")


class Probes:
    """Notes in which batch who was probed; all answer but those that are `away`."""

    def __init__(self) -> None:
        self.away: set[str] = set()
        self.probed: list[tuple[str, ...]] = []

    def __call__(self, sites: Iterable[str]) -> Mapping[str, OstrakaError]:
        asked = tuple(sites)
        if asked:
            self.probed.append(asked)
        return {site: GONE for site in asked if site in self.away}


def test_a_party_that_failed_is_left_out_of_so_many_batches() -> None:
    probes = Probes()
    parties = Availability(SITES, 2, probes)
    assert parties.unavailable() == []
    parties.leave_out("b", GONE)
    for _ in range(TRY_AGAIN_AFTER):
        assert parties.unavailable() == ["b"]
    assert probes.probed == [SITES]
    assert parties.unavailable() == []
    assert probes.probed == [SITES, ("b",)]


def test_a_party_that_is_still_away_is_left_out_as_long_again() -> None:
    probes = Probes()
    probes.away.add("b")
    parties = Availability(SITES, 2, probes)
    for _ in range(2 * (TRY_AGAIN_AFTER + 1)):
        assert parties.unavailable() == ["b"]
    assert probes.probed == [SITES, ("b",)]
