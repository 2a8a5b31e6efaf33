"""A run that meets no trouble, and what its files hold."""

import json

import numpy as np
import pytest

from client.labelling import LabelResult
from client.state import load_state
from common.errors import ErrorCode, OstrakaError
from tests.client.driving import options, right, rows, run, run_of
from tests.client.federation import TEACHERS, Federation


def test_every_query_gets_its_label_in_batches_of_the_plan(federation: Federation) -> None:
    result = run(federation)
    assert (result.queries, result.asked, result.answered, result.unasked) == (10, 10, 10, 0)
    assert (result.enforce, result.bound) == ("worst_case", "theorem6")
    assert rows(federation) == right(10)
    assert [request.size for request in federation.guardian.opened] == [4, 4, 2]
    assert federation.guardian.closed == ["s0"]


def test_the_sum_that_is_sent_makes_the_true_histogram(federation: Federation) -> None:
    run(federation)
    classes = np.concatenate([counts.argmax(axis=1) for counts in federation.guardian.histograms.values()])
    assert classes.tolist() == [row % 3 for row in range(10)]
    assert all(
        set(np.unique(counts)) == {0, 3 * TEACHERS} for counts in federation.guardian.histograms.values()
    )


def test_an_abstention_is_told_apart_from_a_query_that_was_not_asked(federation: Federation) -> None:
    federation.parties["b"].dissents = True
    result = run(federation, options(queries=8))
    assert (result.asked, result.answered, result.abstained) == (8, 5, 3)
    statuses = [status for _, _, status in rows(federation)]
    assert statuses == ["answered", "abstained", "answered"] * 2 + ["answered", "abstained"] + ["unasked"] * 2


def test_progress_is_told_after_every_batch(federation: Federation) -> None:
    told: list[LabelResult] = []
    run(federation, on_progress=told.append)
    assert [result.asked for result in told] == [0, 4, 8, 10]


def test_a_finished_run_is_told_again_without_asking_anybody(federation: Federation) -> None:
    first = run(federation)
    for name in tuple(federation.servers):
        federation.stop(name)
    assert run(federation) == first


def test_only_the_parties_of_the_plan_are_asked(federation: Federation) -> None:
    run(federation, options(parties=("c", "a")))
    assert not federation.parties["b"].voted
    assert set(map(tuple, federation.guardian.frozen.values())) == {("a", "c")}


def test_neither_seed_nor_share_nor_sum_is_written(federation: Federation) -> None:
    run(federation)
    written = b"".join(path.read_bytes() for path in run_of(federation).iterdir())
    secrets = [seed for party in federation.parties.values() for seed in party.replies.values()]
    secrets += [total for sums in federation.guardian.sums.values() for total in sums]
    assert len(secrets) == 12
    for secret in secrets:
        assert secret[:16] not in written
        assert secret[:16].hex().encode() not in written


def test_a_batch_is_durable_before_its_ticket_is_asked(federation: Federation) -> None:
    seen: list[tuple[int, tuple[int, ...]]] = []

    def look(_: object) -> None:
        last = load_state(run_of(federation)).batches[-1]
        seen.append((last.id, last.queries))

    federation.guardian.on_batch = look
    run(federation)
    assert seen == [(1, (0, 1, 2, 3)), (2, (4, 5, 6, 7)), (3, (8, 9))]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"parties": ("a", "zoe")}, ErrorCode.PARTY_UNKNOWN),
        ({"queries": 11}, ErrorCode.PLAN_INVALID),
        ({"quorum": 4}, ErrorCode.PLAN_INVALID),
        ({"batch_size": 0}, ErrorCode.PLAN_INVALID),
    ],
)
def test_impossible_plans_are_refused(
    federation: Federation, changes: dict[str, object], code: ErrorCode
) -> None:
    with pytest.raises(OstrakaError) as refused:
        run(federation, options(**changes))
    assert refused.value.code is code
    assert not (run_of(federation) / "session.json").exists()


def test_the_quorum_is_a_majority_unless_said(federation: Federation) -> None:
    run(federation, options(quorum=None))
    assert load_state(run_of(federation)).parsed_plan().quorum == 2


def test_the_state_is_plain_json(federation: Federation) -> None:
    run(federation)
    stored = json.loads((run_of(federation) / "session.json").read_text())
    assert [batch["status"] for batch in stored["batches"]] == ["released"] * 3
    assert stored["closed"] is True
