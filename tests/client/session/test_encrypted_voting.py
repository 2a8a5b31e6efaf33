"""Runs on encrypted queries: votes as on plain ones, over parties that see nothing."""

import threading
from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy import stats

from ostraka.client.report.run_report import report
from ostraka.client.run import site
from ostraka.client.run.labelling import as_json
from ostraka.client.session.meter import StepProgress
from ostraka.client.session.run_state import load_state
from ostraka.common.crypto.transcripts import read_encrypted_queries
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials
from ostraka.common.learning.encoders import load_encoder
from ostraka.common.mechanism import L1, Binary, Confident, GnMax, Powerset, Tau
from ostraka.protos.ostraka.v1 import common_pb2
from tests.client.driving import asked, options, right, rows, run, run_of
from tests.client.federation import CLASSES, Federation
from tests.client.test_tickets import apart, scheduling
from tests.common.rpc.lying import Liar, lying

HEALTH, BEGIN = "/grpc.health.v1.Health/Check", "/ostraka.v1.Party/Begin"
STEPS = ("encrypt", "evaluate", "compare")


def encrypted(**changes: Any) -> Any:
    return options(**{"encoding": "ckks", "batch_size": 10, **changes})


def histograms(federation: Federation, chosen: Any) -> Any:
    """Return what the guardian counted in a run of its own, query by query."""
    federation.guardian.histograms.clear()
    (run_of(federation) / "session.json").unlink(missing_ok=True)
    run(federation, chosen)
    order = [row for batch in load_state(run_of(federation)).batches for row in batch.queries]
    return np.concatenate(list(federation.guardian.histograms.values()))[np.argsort(order)]


@pytest.mark.heavy
def test_every_query_gets_its_label_from_parties_that_get_the_same_queries(federation: Federation) -> None:
    seen: list[StepProgress] = []
    result = run(federation, encrypted(batch_size=5), on_step=seen.append)
    assert (result.encoding, result.tally, result.answered) == ("ckks", "aggregate", 10)
    assert rows(federation) == right(10)
    sent = [
        data for one in federation.parties.values() for call, _, data in one.received if call == "Evaluate"
    ]
    keys, queries = zip(*map(read_encrypted_queries, sent), strict=True)
    assert Counter(Counter(queries).values()) == {3: 2}
    assert len(set(keys)) == 6
    for party in federation.parties.values():
        calls = [call for call, _, _ in party.received]
        for begin, *between, compare in (calls[:4], calls[4:]):
            assert (begin, {*between}, compare) == ("Begin", {"Garble", "Evaluate"}, "Compare")
    assert {name: sum(one.step == name for one in seen) for name in STEPS} == {
        "encrypt": 4,
        "evaluate": 8,
        "compare": 8,
    }
    steps = {(step["peer"], step["name"]): step for step in as_json(result)["steps"]}
    assert steps["none", "encrypt"]["times"] == 2
    assert steps["party", "evaluate"]["sent"] == sum(map(len, sent))
    assert report(run_of(federation))["encoding"] == "ckks"


@pytest.mark.heavy
def test_parties_are_asked_one_after_the_other_where_there_is_one_thread(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site, "PARTIES_AT_ONCE", 1)
    running: set[str] = set()

    def told(_: StepProgress) -> None:
        running.update(one.name for one in threading.enumerate() if one.name.startswith("party"))

    assert run(federation, encrypted(), on_step=told).answered == 10
    assert rows(federation) == right(10)
    assert running == {"party_0"}


@pytest.mark.heavy
@pytest.mark.parametrize("mechanism", [GnMax(sigma=5.0), Confident(sigma1=5.0, sigma2=5.0, threshold=6.0)])
def test_votes_are_those_on_plain_queries(federation: Federation, mechanism: Any) -> None:
    federation.parties["b"].dissents = True
    plainly = histograms(federation, options(mechanism=mechanism))
    assert {0, 4, 8, 12} == set(plainly.ravel())
    assert np.array_equal(histograms(federation, encrypted(mechanism=mechanism)), plainly)


@pytest.mark.heavy
@pytest.mark.parametrize(
    "mechanism",
    [
        Binary(sigma=5.0),
        Tau(sigma=5.0, tau=1.2),
        L1(sigma=5.0, tau1=1.5),
        Powerset(sigma=5.0, max_positives=2),
    ],
    ids=lambda mechanism: mechanism.kind,
)
def test_votes_on_several_labels_are_those_on_plain_queries(several: Federation, mechanism: Any) -> None:
    several.guardian.alter_answers = lambda answers: [type(answers[0])() for _ in answers]
    several.parties["b"].dissents = True
    plainly = histograms(several, options(mechanism=mechanism))
    assert np.array_equal(histograms(several, encrypted(mechanism=mechanism)), plainly)


@pytest.mark.heavy
def test_cohorts_vote_where_they_are_scheduled_and_weigh_what_they_weigh(federation: Federation) -> None:
    federation.guardian.alter_grant = apart
    federation.guardian.alter_ticket = scheduling((b"\x80", b""), (b"", b"\x00"), (b"", b""))
    run(federation, encrypted(queries=4, batch_size=4, mechanism=GnMax(sigma=5.0)))
    (counts,) = federation.guardian.histograms.values()
    expected = np.zeros((4, len(CLASSES)))
    for place, query in enumerate(asked(federation)):
        first = 1.0 if place == 0 else 0.0
        expected[place, query % 3] = (first + 1.5) + 1.0 + (1.0 + 1.5)
    assert np.array_equal(counts, expected)


@pytest.mark.heavy
def test_what_leaves_and_what_is_held_is_uniform_whatever_the_votes_are(federation: Federation) -> None:
    federation.write_pool([0.0] * 1200)
    run(federation, encrypted(batch_size=600, mechanism=GnMax(sigma=5.0)))
    sums = b"".join(total for sent in federation.guardian.sums.values() for total in sent)
    held = [values for by_site in federation.guardian.shares.values() for values in by_site.values()]
    for values in (np.frombuffer(sums, "<u4"), np.concatenate(held).ravel()):
        assert stats.chisquare(np.bincount(values >> 28, minlength=16)).pvalue > 1e-9
    for party in federation.parties.values():
        sent = b"".join(data for call, _, data in party.received if call == "Compare")
        counts = np.bincount(np.frombuffer(sent, "<u4") >> 12, minlength=16)
        assert len(counts) == 16
        assert stats.chisquare(counts).pvalue > 1e-9


@pytest.mark.heavy
def test_both_switches_together(federation: Federation) -> None:
    federation.parties["b"].dissents = True
    unanimous = Confident(sigma1=10.0, sigma2=5.0, threshold=11.5)
    result = run(federation, encrypted(mechanism=unanimous, tally="blind"))
    assert (result.answered, result.abstained) == (7, 3)
    assert not federation.guardian.sums
    kept = [row for row in right(10) if row[1] != "bee"]
    assert [row for row in rows(federation) if row[2] == "answered"] == kept


@pytest.mark.heavy
def test_an_encoder_is_named_in_the_plan_and_applied_here_to_what_is_encrypted(
    federation: Federation,
) -> None:
    name = "tests.client.session.encrypted.networks:turned"
    config = federation.site / "site.toml"
    config.write_text(config.read_text() + f'\n[query]\nencoder = "{name}"\n')
    run(federation, encrypted())
    plan = load_state(run_of(federation)).parse_plan()
    assert (plan.encoder, plan.encoder_sha256) == (name, load_encoder(name).sha256)
    turned = [("ant", "bee", "cat")[2 - row % 3] for row in range(10)]
    assert [label for _, label, _ in rows(federation)] == turned
    with pytest.raises(OstrakaError) as other:
        run(federation, encrypted(encoder=""))
    assert other.value.code is ErrorCode.RUN_MISMATCH
    assert "encoder" in other.value.message


@pytest.mark.parametrize("begun", [(), (b"", b""), (b"\xff\xff\xff",)])
def test_a_party_that_answers_begin_with_no_reply_ends_nobodys_run(
    federation: Federation, begun: tuple[bytes, ...]
) -> None:
    liar = Liar()
    liar.answers = {HEALTH: [b"\x08\x01"], BEGIN: begun}
    with lying(liar, Credentials.load(federation.root / "b")) as address:
        federation.addresses["b"] = address
        federation.write_site()
        result = run(federation, encrypted())
    assert rows(federation) == right(10)
    assert {site: stop.code for site, stop in result.left_out.items()} == {"b": "message.invalid"}


def test_plain_queries_are_left_to_the_parties_to_encode(federation: Federation) -> None:
    run(federation, options(encoder="tests.client.session.encrypted.networks:turned"))
    assert load_state(run_of(federation)).parse_plan().encoder
    assert rows(federation) == right(10)


def test_a_party_that_cannot_be_evaluated_encrypted_is_in_no_grant(federation: Federation) -> None:
    def forget(grant: common_pb2.Grant) -> None:
        grant.participants[1].head = ""

    federation.guardian.alter_grant = forget
    with pytest.raises(OstrakaError) as refused:
        run(federation, encrypted())
    assert refused.value.code is ErrorCode.GRANT_INVALID


@pytest.mark.heavy
def test_neither_queries_nor_logits_nor_votes_are_written_or_sent(
    federation: Federation, capfd: pytest.CaptureFixture[str]
) -> None:
    features = np.random.default_rng(1).random(40).round(6)
    federation.write_pool(features.tolist())
    run(federation, encrypted(batch_size=40, mechanism=GnMax(sigma=5.0)))
    written = b"".join(path.read_bytes() for path in run_of(federation).iterdir())
    written += "".join(capfd.readouterr()).encode()
    told = b"".join(data for party in federation.parties.values() for _, _, data in party.received)
    for value in features:
        for raw in (np.float32(value).tobytes(), np.float64(value).tobytes()):
            assert raw not in written
            assert raw not in told
        assert f"{value}".encode() not in written
    secrets = [total[:16] for sums in federation.guardian.sums.values() for total in sums]
    for party in federation.parties.values():
        secrets += [data[:16] for _, _, data in party.received]
        secrets += [shares.tobytes()[:16] for slot in party.slots.values() for shares in slot.shares]
    assert len(secrets) >= 16
    for secret in secrets:
        assert secret not in written
        assert secret.hex().encode() not in written
