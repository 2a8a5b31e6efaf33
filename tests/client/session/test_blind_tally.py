"""Runs whose guardian never sees a count: what comes out, what is sent, and what is left behind."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from ostraka.client.report.run_report import report
from ostraka.client.run.labelling import as_json
from ostraka.client.session.meter import StepProgress
from ostraka.client.session.run_state import load_state
from ostraka.common.crypto.computation import Computation
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Binary, Check, Confident, GnMax, Tau
from ostraka.common.sharing.prime_field import PrimeField
from ostraka.protos.ostraka.v1 import common_pb2
from tests.client.driving import options, right, rows, run, run_of
from tests.client.federation import Federation
from tests.client.tallying import ANSWERS, CHECK

UNANIMOUS = Confident(sigma1=10.0, sigma2=5.0, threshold=11.5)
MODULUS = PrimeField(31)
"""Of ballots that are verified, as they are by default."""


def blind(**changes: Any) -> Any:
    return options(**{"mechanism": UNANIMOUS, "tally": "blind", **changes})


@pytest.mark.heavy
@pytest.mark.parametrize("ballots", ["verified", "unverified"])
def test_every_query_gets_its_label(federation: Federation, ballots: str) -> None:
    result = run(federation, blind(ballots=ballots))
    assert (result.tally, result.answered, result.lost) == ("blind", 10, 0)
    assert rows(federation) == right(10)
    assert not federation.guardian.sums
    assert {stage for _, stage in federation.guardian.stages} == {CHECK, ANSWERS}


@pytest.mark.heavy
def test_what_does_not_pass_is_an_abstention_and_no_instance_of_the_answers(federation: Federation) -> None:
    federation.parties["b"].dissents = True
    result = run(federation, blind())
    assert (result.answered, result.abstained) == (7, 3)
    assert [status for _, _, status in rows(federation)][:3] == ["answered", "abstained", "answered"]
    sizes = [
        len(stage.words) for (_, number), stage in federation.guardian.stages.items() if number == ANSWERS
    ]
    assert sum(sizes) == 7


@pytest.mark.heavy
def test_nothing_is_computed_where_nothing_passed(federation: Federation) -> None:
    result = run(federation, blind(mechanism=Confident(sigma1=10.0, sigma2=5.0, threshold=12.5)))
    assert (result.answered, result.abstained, result.lost) == (0, 10, 0)
    assert set(federation.guardian.received) >= {"point", "extension", "correction", "returned"}
    assert len(federation.guardian.answers) == 3


@pytest.mark.heavy
def test_a_mechanism_without_a_check_has_one_stage(federation: Federation) -> None:
    result = run(federation, blind(mechanism=GnMax(sigma=5.0)))
    assert result.answered == 10
    assert rows(federation) == right(10)
    assert {stage for _, stage in federation.guardian.stages} == {ANSWERS}


@pytest.mark.heavy
@pytest.mark.parametrize(
    "mechanism",
    [
        Binary(sigma=5.0),
        Binary(sigma=5.0, check=Check(sigma=5.0, threshold=11.5)),
        Tau(sigma=5.0, tau=1.0, check=Check(sigma=5.0, threshold=4.0)),
    ],
    ids=["binary", "checked", "tau"],
)
def test_several_labels_come_bit_by_bit(several: Federation, mechanism: Any) -> None:
    result = run(several, blind(mechanism=mechanism))
    assert result.answered == 10
    clipped = isinstance(mechanism, Tau)
    for query, answer in load_state(run_of(several)).answers().items():
        assert isinstance(answer, tuple)
        known = [bit for bit in answer if bit is not None]
        assert known
        if not clipped:
            assert answer == tuple(int(label <= query % 3) for label in range(3))


@pytest.mark.heavy
def test_labels_of_which_some_pass(several: Federation) -> None:
    several.parties["b"].dissents = True
    result = run(several, blind(mechanism=Binary(sigma=5.0, check=Check(sigma=5.0, threshold=11.5))))
    assert result.answered == 10
    assert load_state(run_of(several)).answers()[1] == (1, 1, None)


@pytest.mark.heavy
def test_the_report_names_the_tally_and_costs_as_an_aggregate_one(federation: Federation) -> None:
    run(federation, blind())
    figures = report(run_of(federation))
    assert (figures["encoding"], figures["tally"], figures["lost"]) == ("plain", "blind", 0)
    blindly = [party["epsilon_worst_case"] for party in figures["parties"]]
    (run_of(federation) / "session.json").unlink()
    run(federation, options(mechanism=UNANIMOUS))
    assert [party["epsilon_worst_case"] for party in report(run_of(federation))["parties"]] == blindly


@pytest.mark.heavy
def test_steps_are_counted_and_shown(federation: Federation) -> None:
    seen: list[StepProgress] = []
    result = run(federation, blind(), on_step=seen.append)
    tallied = [step for step in seen if step.step == "tally"]
    assert tallied == [StepProgress("tally", done, 2) for _ in range(3) for done in range(3)]
    steps = {(step["peer"], step["name"]): step for step in as_json(result)["steps"]}
    garbled = steps["guardian", "garble"]
    sizes = [
        Computation.of(stage.circuit, len(stage.words)).sizes for stage in federation.guardian.stages.values()
    ]
    assert garbled["received"] == sum(size.tables for size in sizes)
    assert garbled["sent"] == sum(size.extension for size in sizes)
    assert garbled["times"] == 6
    assert all(step["seconds"] > 0 for step in steps.values())


@pytest.mark.heavy
def test_a_reply_that_breaks_off_is_taken_up_where_it_ended(federation: Federation) -> None:
    broken: list[int] = []

    def break_off(call: str, stage: Any) -> None:
        if call == "tables" and len(broken) < 2:
            broken.append(stage)
            if len(broken) == 2:
                raise OstrakaError(ErrorCode.SERVER_UNREACHABLE, "Away.")

    federation.guardian.on_tally = break_off
    run(federation, blind())
    assert len(broken) == 2
    assert rows(federation) == right(10)
    sent = federation.guardian.received["extension"]
    assert len(sent) == len(set(sent)) + 1


@pytest.mark.parametrize(
    ("call", "alter", "codes"),
    [
        ("BeginTally", lambda data: data[:-1], {ErrorCode.MESSAGE_INVALID}),
        ("BeginTally", lambda data: b"\xff" * len(data), {ErrorCode.CRYPTO_REFUSED}),
        ("GarbleTally", lambda data: data[:-1], {ErrorCode.MESSAGE_INVALID}),
        ("GarbleTally", lambda data: data + b"x", {ErrorCode.MESSAGE_INVALID}),
        ("CompareTally", lambda data: b"", {ErrorCode.MESSAGE_INVALID}),
        ("OpenCheck", lambda data: bytes(byte ^ 0x80 for byte in data), {ErrorCode.MESSAGE_INVALID}),
    ],
)
def test_a_guardian_that_keeps_to_no_protocol_ends_the_run(
    federation: Federation, call: str, alter: Any, codes: set[ErrorCode]
) -> None:
    federation.guardian.alter_tally = lambda name, data: alter(data) if name == call else data
    with pytest.raises(OstrakaError) as refused:
        run(federation, blind())
    assert refused.value.code in codes
    assert list(federation.guardian.frozen) == [("s0", 1)]


@pytest.mark.heavy
def test_what_the_guardian_receives_says_nothing_about_the_sums(federation: Federation) -> None:
    run(federation, blind(mechanism=GnMax(sigma=5.0), batch_size=1))
    corrections = b"".join(federation.guardian.received["correction"])
    extensions = b"".join(data[: len(data) // 32 * 32] for data in federation.guardian.received["extension"])
    for data in (corrections, extensions):
        counts = np.bincount(np.frombuffer(data, np.uint8) >> 4, minlength=16)
        assert stats.chisquare(counts).pvalue > 1e-9


@pytest.mark.heavy
def test_neither_sums_nor_labels_of_wires_are_written(
    federation: Federation, capfd: pytest.CaptureFixture[str]
) -> None:
    made: list[bytes] = []
    guardian = federation.guardian

    def keep(call: str, data: bytes) -> bytes:
        if call == "CompareTally":
            made.append(data[:16])
        return data

    guardian.alter_tally = keep
    run(federation, blind())
    for key, frozen in guardian.frozen.items():
        total = MODULUS.sum(guardian.shares[key][site] for site in frozen)
        made.append(MODULUS.to_bytes(total)[:16])
    made += [
        data[:16] for name in ("correction", "extension", "returned") for data in guardian.received[name]
    ]
    written = b"".join(path.read_bytes() for path in run_of(federation).iterdir())
    written += "".join(capfd.readouterr()).encode()
    assert len(made) > 12
    for secret in made:
        assert secret not in written
        assert secret.hex().encode() not in written


@pytest.mark.heavy
def test_a_plan_says_which_ring_and_tally_it_is_of(federation: Federation) -> None:
    run(federation, blind())
    plan = load_state(run_of(federation)).parse_plan()
    assert (plan.modulus, plan.tally, plan.encoding) == (MODULUS, "blind", "plain")
    assert common_pb2.Plan.FromString(plan.serialize()).tally == common_pb2.TALLY_BLIND
