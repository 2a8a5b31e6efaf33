"""Labels that teachers of ttac voted for are marked wherever they are told of."""

import csv
import json

from typer.testing import CliRunner, Result

from ostraka.client.cli.query import app
from ostraka.protos.ostraka.v1 import common_pb2
from tests.client.driving import run, run_of
from tests.client.federation import Federation

MARK = "no formal guarantee"


def learned_by_ttac(federation: Federation, *sites: str) -> None:
    """Have the guardian name the teachers of `sites` as learning by ttac."""

    def alter(participants: list[common_pb2.Participant]) -> None:
        for participant in participants:
            if participant.site in sites:
                participant.together = "ttac"

    guardian = federation.guardian
    guardian.alter_grant = lambda grant: alter(list(grant.participants))
    guardian.alter_ticket = lambda ticket: alter([one.participant for one in ticket.schedule])


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def columns(federation: Federation) -> list[str]:
    with (run_of(federation) / "labels.csv").open(newline="") as file:
        return list(csv.DictReader(file).fieldnames or ())


def test_label_file_result_and_report_name_the_parties(federation: Federation) -> None:
    learned_by_ttac(federation, "b", "c")
    noise = ("--mechanism", "gnmax:sigma=5")
    files = ("--site", federation.site, "--pool", federation.pool, "--out", run_of(federation))
    labelled = invoke("label", *files, *noise, "--json", "-")
    assert json.loads(labelled.stdout)["unguaranteed"] == ["b", "c"]
    assert "No formal guarantee: teachers of b, c were trained by ttac" in labelled.stderr
    with (run_of(federation) / "labels.csv").open(newline="") as file:
        assert {row["guarantee"] for row in csv.DictReader(file)} == {MARK}
    reported = invoke("report", "--run", run_of(federation), "--json", "-")
    figures = json.loads(reported.stdout)
    assert figures["unguaranteed"] == ["b", "c"]
    assert {figures["notion"], *(party["notion"] for party in figures["parties"])} == {MARK}
    assert "No formal guarantee" in reported.stderr
    assert "protects no record" in reported.stderr
    assert "DP for records" not in reported.stderr


def test_label_files_of_several_labels_are_marked_too(several: Federation) -> None:
    learned_by_ttac(several, "a")
    assert (
        invoke(
            "label",
            *("--site", several.site, "--pool", several.pool, "--out", run_of(several)),
            *("--mechanism", "binary:sigma=5"),
        ).exit_code
        == 0
    )
    assert columns(several)[-2:] == ["status", "guarantee"]


def test_other_labels_are_not_marked(federation: Federation) -> None:
    result = run(federation)
    assert result.unguaranteed == ()
    assert columns(federation) == ["id", "label", "status"]
