"""Files of the console, and the log checked from what it exports."""

import csv
import io
import json
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from ostraka.guardian.admin.exports import write_charges
from ostraka.guardian.admin.verification import verify_ledger
from ostraka.guardian.dashboard import console
from ostraka.protos.ostraka.v1 import admin_pb2, common_pb2
from tests.guardian.admin.support import label
from tests.guardian.dashboard.browsing import Browser, browsing, problem
from tests.guardian.federation import Calls, Federation


@pytest.mark.heavy
def test_the_report(reader: Browser, guardian: Calls) -> None:
    label(guardian)
    answer = reader.client.get("/downloads/report.html?from=2020-01-01&to=2120-01-01")
    assert "attachment" in answer.headers["content-disposition"]
    assert "Privacy budgets of federation test" in answer.text
    assert "confident" in answer.text
    assert "confident" not in reader.text("/downloads/report.html?to=2020-01-01").partition("Charges, by")[2]


@pytest.mark.heavy
def test_charges_as_csv(reader: Browser, guardian: Calls) -> None:
    session = label(guardian)
    rows = list(csv.DictReader(reader.text("/downloads/charges.csv").splitlines()))
    assert {row["session_id"] for row in rows} == {session}
    assert {row["notion"] for row in rows} == {"DP for records"}
    later = reader.text("/downloads/charges.csv?from=2120-01-01")
    assert len(later.splitlines()) == 1


def test_no_cell_is_a_formula() -> None:
    file = io.StringIO()
    write_charges([admin_pb2.ChargeRow(party="a", group='=HYPERLINK("x")', adjacency="label")], file)
    (row,) = csv.DictReader(file.getvalue().splitlines())
    assert (row["group"], row["notion"]) == ('\'=HYPERLINK("x")', "label-DP")


@pytest.mark.heavy
def test_the_log_and_a_head_that_it_is_held_to(
    reader: Browser, guardian: Calls, federation: Federation, tmp_path: Path
) -> None:
    rows = [json.loads(line) for line in reader.text("/downloads/audit.jsonl").splitlines()]
    head = reader.client.get("/downloads/audit-head.pb").content
    kept = common_pb2.AuditHead.FromString(head)
    assert [row["sequence"] for row in rows] == list(range(1, kept.sequence + 1))
    assert rows[-1]["hash"] == kept.hash.hex()
    file = tmp_path / "head.pb"
    file.write_bytes(head)
    folder = federation.guardian_folder
    assert verify_ledger(folder / "ledger.db", folder / "ca.crt", [file]).heads_checked == 1


def test_what_is_no_day(reader: Browser) -> None:
    for day in ("yesterday", "2020-13-01", "<b>", "9999-12-31", "0001-01-01"):
        refused = reader.client.get("/downloads/report.html", params={"to": day})
        assert refused.status_code == 400
        assert "is not a day" in problem(refused.text)


@pytest.mark.heavy
def test_the_log_is_verified_with_a_kept_head(reader: Browser, guardian: Calls) -> None:
    kept = guardian.admin.Head(admin_pb2.HeadRequest()).SerializeToString()
    label(guardian)
    assert "Kept heads found in it: 1." in reader.post("/audit/verify", heads=kept).text
    assert "Kept heads found in it: 0." in reader.post("/audit/verify").text


def test_a_head_that_is_none_or_nobodys(reader: Browser, guardian: Calls) -> None:
    assert "is not an audit head" in problem(reader.post("/audit/verify", 400, heads=b"\xff\xff").text)
    forged = guardian.admin.Head(admin_pb2.HeadRequest())
    forged.sequence += 1
    answer = reader.post("/audit/verify", heads=forged.SerializeToString())
    assert "not signed by the guardian" in answer.text
    assert "is intact" not in answer.text


@pytest.mark.heavy
def test_a_log_that_was_rewritten_is_found(folder: Path, guardian: Calls, federation: Federation) -> None:
    federation.tampered = True
    engine = create_engine(f"sqlite:///{federation.guardian_folder / 'ledger.db'}")
    with engine.begin() as connection:
        connection.execute(
            text("UPDATE audit SET payload = replace(payload, '1000', '9999') WHERE sequence = 6")
        )
    engine.dispose()
    with browsing(folder) as browser:
        answer = browser.post("/audit/verify")
    assert "audit row 6 was altered" in answer.text
    assert "note bad" in answer.text


@pytest.mark.heavy
def test_older_rows_are_on_further_pages(
    reader: Browser, guardian: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "PAGE", 3)
    head = guardian.admin.Head(admin_pb2.HeadRequest()).sequence
    newest = reader.text("/audit")
    assert f"row {head}<" in newest
    assert f"/audit?until={head - 3}" in newest
    older = reader.text(f"/audit?until={head - 3}")
    assert f"row {head - 3}<" in older
    assert f"row {head - 2}<" not in older
    assert "Older rows" not in reader.text("/audit?until=1")
    assert reader.text("/audit?until=none") == newest
