"""Who was last in batch after batch, as the records of runs, the status and the report tell."""

import threading
from io import StringIO
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from ostraka.client.report import tables
from ostraka.client.report.page import render
from ostraka.client.report.run_report import report
from ostraka.client.run.site_status import run_statuses
from ostraka.client.session.run_state import Latecomers, load_state
from ostraka.client.session.stragglers import Waiting
from ostraka.protos.ostraka.v1 import common_pb2
from tests.client.driving import options, run, run_of
from tests.client.federation import DAY_S, Federation

WAIT_S = 60.0


def batches(*last: str) -> Any:
    return SimpleNamespace(batches=[SimpleNamespace(last=tuple(sites)) for sites in last])


def test_they_are_counted_over_runs_and_the_most_frequent_comes_first() -> None:
    found = Latecomers.of([batches("b", "a", "", "bc"), batches("b")])
    assert (found.batches, list(found.last.items())) == (4, [("b", 3), ("a", 1), ("c", 1)])
    assert str(found) == "Last in 3 of 4 batches: b; in 1 of 4 batches: a; in 1 of 4 batches: c."
    assert str(Latecomers.of([batches("")])) == ""


def test_a_party_that_is_always_last_is_in_the_runs_records_the_status_and_the_report(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Party c answers once the two others have."""
    came, both = set[str](), threading.Event()
    note = Waiting.note_answer

    def answered(waiting: Waiting, site: str) -> None:
        note(waiting, site)
        if waiting.look_s < DAY_S:  # no probe, whose answers are waited for without limit
            came.add(site)
        if came >= {"a", "b"}:
            both.set()

    def wait(_: common_pb2.Ticket) -> None:
        assert both.wait(WAIT_S)
        came.clear()
        both.clear()

    monkeypatch.setattr(Waiting, "note_answer", answered)
    federation.parties["c"].on_vote = wait
    run(federation, options(batch_size=5))
    assert [batch.last for batch in load_state(run_of(federation)).batches] == [("c",)] * 2
    (status,) = run_statuses(run_of(federation))
    assert status.latecomers == Latecomers(2, {"c": 2})
    figures = report(run_of(federation))
    assert figures["latecomers"] == {"batches": 2, "last": {"c": 2}}
    shown = StringIO()
    tables.show(figures, Console(file=shown, width=200))
    for text in (shown.getvalue(), render(figures)):
        assert "Last in 2 of 2 batches: c." in text
