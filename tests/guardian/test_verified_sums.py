"""Verified sums over records between parties, a querying party and a real guardian."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ostraka.common.identity import Role
from ostraka.common.mechanism import Mechanism, Moments, Statistics
from ostraka.common.plan.fields import NONCE_BYTES
from ostraka.common.sharing.ballots import VOTE
from ostraka.common.verified.parts import context_of
from ostraka.common.wire.contexts import ATTESTATION_CONTEXT
from ostraka.protos.ostraka.v1 import admin_pb2, common_pb2, guardian_pb2
from tests.guardian.federation import PARTIES, Calls, Federation, group, plan
from tests.guardian.training import lifted
from tests.guardian.verified_batch import Batch

RECORDS = 100
"""That every party declares."""
POLICY = 'enforce = "worst_case"\nmin_sigma = 0.5\nmin_quorum = 2\nmechanisms = ["votes", "sums"]\n'
MECHANISM = Moments(columns=3, codes=2, sigma=30.0, gram_sigma=40.0)
REST = ["a", "b"]


@pytest.fixture
def calls(tmp_path: Path) -> Iterator[Calls]:
    with Federation(tmp_path, policy=POLICY).guardian() as guardian:
        guardian.prepare_all()
        yield guardian


class SumBatch(Batch):
    """A round of a sum in two blocks of six values, in each of which honest parties go as far as they may."""

    def __init__(self, calls: Calls, mechanism: Mechanism = MECHANISM, **changes: Any) -> None:
        asked = {"mechanism": mechanism, "queries": 3, "batch_size": 1, "ring_bits": 61}
        super().__init__(calls, plan(**asked | changes), size=1)

    def honest(self) -> NDArray[np.float64]:
        sums = np.zeros(self.shape)
        sums[0, 0] = RECORDS
        if self.shape[1] > 6:
            sums[0, -3:-1] = -RECORDS * 0.7
        return sums

    def lie(self, site: str, sums: NDArray[np.float64]) -> None:
        """Share another sum, with its own digits and norms."""
        for place, part in enumerate(self.parts[site]):
            write = part.layout.writing.write
            change = write(part.counts(sums)) - write(part.counts(self.honest()))
            self.provers[site].alter(change, place)


def audited(calls: Calls, kind: str) -> list[dict[str, Any]]:
    rows = calls.admin.ExportAudit(admin_pb2.ExportAuditRequest())
    return [json.loads(row.payload) for row in rows if kind in row.payload]


def test_sums_as_long_as_records_allow_are_released(calls: Calls) -> None:
    batch = SumBatch(calls)
    batch.vote()
    assert batch.verify() == []
    assert list(calls.prepare(batch.session, 1).frozen) == list(PARTIES)
    released = lifted(b"".join(reply.update.data for reply in batch.send(PARTIES))) / VOTE
    assert abs(released - 3 * batch.honest()[0]).max() < 9 * 40, "9 deviations: one in 10^18 each"
    assert calls.spent("a") > 0


def barely(sums: NDArray[np.float64]) -> None:
    sums[0, 0] += 0.1


def in_the_second_block(sums: NDArray[np.float64]) -> None:
    sums[0, -1] = -RECORDS / 2


@pytest.mark.parametrize("lie", [barely, in_the_second_block])
def test_a_party_whose_sum_is_too_long_is_left_out_and_named(calls: Calls, lie: Any) -> None:
    """It attests the share of its own seed, as its software does: so it is proved that it lied."""
    batch = SumBatch(calls)
    sums = batch.honest()
    lie(sums)
    batch.lie("c", sums)
    batch.vote()
    assert batch.verify() == ["c"]
    assert list(calls.prepare(batch.session, 1).frozen) == REST
    released = lifted(b"".join(reply.update.data for reply in batch.send(REST))) / VOTE
    assert abs(released - 2 * batch.honest()[0]).max() < 9 * 40
    assert calls.spent("a") > 0
    assert calls.spent("c") == 0
    assert [row["parties"] for row in audited(calls, "ballots_refused")] == [["c"]]
    attest(calls, batch, "c")
    assert [(row["party"], row["proved"]) for row in audited(calls, "ballots_attested")] == [
        ("c", "party lied")
    ]


def attest(calls: Calls, batch: Batch, site: str) -> None:
    """Have a party sign what its seed implies at the point that it is told."""
    (told,) = calls.register(site).refused
    seed = common_pb2.Evaluation.FromString(told.payload).point_seed
    attestation = common_pb2.Attestation(
        session_id=batch.session, batch_id=1, sha256=batch.provers[site].attester.attest(seed)
    )
    signed = calls.credentials(site, Role.PARTY).sign(ATTESTATION_CONTEXT, attestation.SerializeToString())
    calls.stub(site, Role.PARTY).AttestBallots(guardian_pb2.AttestBallotsRequest(attestation=signed))


def ten_times(batch: SumBatch) -> None:
    batch.lie("c", 10 * batch.honest())


def more_in_the_guardians_share(batch: SumBatch) -> None:
    """Add a step to the guardian's share alone: the sum is in its norm, and not what was proved."""
    prover = batch.provers["c"]
    layout = batch.parts["c"][0].layout
    size = layout.share_bytes
    share = layout.field.from_bytes(prover.guardian_share[:size], 1, layout.writing.size)
    share[:, 1] = layout.field.reduce(share[:, 1] + np.uint64(1))
    prover.guardian_share = layout.field.to_bytes(share) + prover.guardian_share[size:]


def another_seed(batch: SumBatch) -> None:
    batch.seeds["c"] = batch.seeds["b"]


def as_another_party(batch: SumBatch) -> None:
    """Send what party a shares, and prove it to its own challenge."""
    batch.seeds["c"] = batch.seeds["a"]
    batch.provers["c"] = batch.prover("c", context_of(batch.session, 1, "a"))


def of_the_next_round(batch: SumBatch) -> None:
    batch.provers["c"] = batch.prover("c", context_of(batch.session, 2, "c"))


def blocks_exchanged(batch: SumBatch) -> None:
    """Send one for the other: both have as many values, and so the same layout."""
    first, second = (part.layout for part in batch.parts["c"])
    assert first == second
    prover = batch.provers["c"]
    share = prover.guardian_share
    prover.guardian_share = share[first.share_bytes :] + share[: first.share_bytes]


@pytest.mark.heavy
def test_a_proof_of_another_sum_party_round_or_block_is_refused(calls: Calls) -> None:
    lies = (
        ten_times,
        more_in_the_guardians_share,
        another_seed,
        as_another_party,
        of_the_next_round,
        blocks_exchanged,
    )
    for number, lie in enumerate(lies):
        batch = SumBatch(calls, nonce=bytes([number]) * NONCE_BYTES)
        lie(batch)
        batch.vote()
        assert batch.verify() == ["c"], lie.__name__
    assert calls.spent("c") == 0


def test_norms_grow_with_the_records_that_a_party_declares_and_no_others(calls: Calls) -> None:
    """One declares more records and may add as much more; one that says nothing of them may not."""
    calls.register("a", groups=[group("all", records=3 * RECORDS)])
    batch = SumBatch(calls)
    for site in ("a", "c"):
        batch.lie(site, 2.9 * batch.honest())
    batch.vote()
    assert batch.verify() == ["c"]


def test_groups_allow_as_much_as_they_weigh(calls: Calls) -> None:
    """Records of two groups count more or less than 1, and what they count together bounds the sum."""
    groups = [group("rich", records=RECORDS // 2), group("strict", records=RECORDS // 2)]
    for site in PARTIES:
        calls.register(site, groups=groups)
        calls.budget(site, 40.0, group="rich")
        calls.budget(site, 10.0, group="strict")
    batch = SumBatch(calls, variant="weighting")
    cohorts = batch.ticket.schedule[0].participant.cohorts
    assert len({cohort.weight for cohort in cohorts}) == 2
    total = sum(cohort.weight / VOTE * sum(cohort.records) for cohort in cohorts)
    for site, share in (("a", 0.999), ("c", 1.01)):
        batch.lie(site, batch.honest() / RECORDS * total * share)
    batch.lie("b", 0 * batch.honest())
    batch.vote()
    assert batch.verify() == ["c"]


def test_counts_of_several_columns_may_be_longer(calls: Calls) -> None:
    """A record counts once in each of 4 columns: a vector of norm 2."""
    batch = SumBatch(calls, Statistics(cells=6, columns=4, sigma=5.0))
    batch.lie("b", 1.99 * batch.honest())
    batch.lie("c", 2.01 * batch.honest())
    batch.vote()
    assert batch.verify() == ["c"]
