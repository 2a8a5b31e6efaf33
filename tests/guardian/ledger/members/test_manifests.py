"""What parties declared ever since."""

import pytest

from ostraka.guardian.ledger import registrations
from ostraka.guardian.ledger.members import manifests
from ostraka.protos.ostraka.v1 import common_pb2
from tests.guardian.ledger.places import Place
from tests.guardian.ledger.support import with_budgets


@pytest.mark.heavy
def test_a_party_that_split_persons_once_promises_records(place: Place) -> None:
    ledger = with_budgets(place.open())
    declared = {"athens": (True, True), "corinth": (True, False), "sparta": (False, True)}
    for site, kept in declared.items():
        for number, whole in enumerate(kept):
            manifest = common_pb2.Manifest(site=site, whole_persons=whole, training=str(number))
            ledger.write(registrations.register, site, manifest.SerializeToString(), b"signed")
    assert ledger.read(manifests.always_whole) == {"athens"}
    assert ledger.read(manifests.always_whole, ["athens", "corinth"]) == {"athens"}
    assert ledger.read(manifests.always_whole, ["sparta", "thebes"]) == set()
