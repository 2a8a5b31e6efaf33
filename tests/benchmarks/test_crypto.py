"""The page's tables hold what the benchmark prints; libraries that are not installed are left out."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import pytest

from benchmarks.confidential.work import Work
from benchmarks.crypto import __main__ as command
from benchmarks.crypto.measured import Measured, median_of
from benchmarks.crypto.own import summarize
from benchmarks.crypto.peers import run_peer
from benchmarks.crypto.tables import tabulate, tell, times
from benchmarks.crypto.tasks import OWN_PROMISE, PEERS, Peer, Task

PAGE = Path(__file__).parents[2] / "docs" / "confidential-costs.md"
OWN = Measured("1.0", 1000, {"party": 0.25, "guardian": 0.25}, 20_000, 3)
OTHER = Measured("2.0", 500, {"both parties": 2.5}, 2_500, 7)
MPYC = next(peer for peer in PEERS if peer.name == "MPyC")
PRIO3 = next(peer for peer in PEERS if peer.installer == "npm")


def rows_of_page(task: Task) -> Mapping[str, list[str]]:
    """Return the cells of the page's table of a task, by who did it."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith(f"| {task}") and "security" in line)
    table = lines[begin + 2 : lines.index("", begin)]
    cells = ([cell.strip() for cell in line.strip("|").split("|")] for line in table)
    return {name: rest for name, *rest in cells}


def number(cell: str) -> float:
    return float(cell.replace(",", ""))


def install_interpreter(folder: Path, script: str) -> None:
    interpreter = folder / "bin" / "python"
    interpreter.parent.mkdir()
    interpreter.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    interpreter.chmod(0o755)


@pytest.mark.parametrize("task", Task)
def test_the_page_has_every_library_with_its_security(task: Task) -> None:
    promises = {peer.name: peer.promise for peer in PEERS if peer.task == task}
    assert {name: row[0] for name, row in rows_of_page(task).items()} == {
        "Ostraka": OWN_PROMISE[task],
        **promises,
    }


@pytest.mark.parametrize("task", Task)
def test_the_pages_figures_agree_with_each_other(task: Task) -> None:
    rows = rows_of_page(task)
    own = [number(cell) for cell in rows["Ostraka"][2:]]
    for _, roles, *cells in rows.values():
        ms, size, _, times_ms, times_bytes = map(number, cells)
        assert sum(float(role.rpartition(" ")[2]) for role in roles.split(", ")) == pytest.approx(ms, rel=0.1)
        assert times_ms == pytest.approx(ms / own[0], rel=0.1)  # both have two digits
        assert times_bytes == pytest.approx(size / own[1], rel=0.05)


def test_ratios_are_of_a_query() -> None:
    assert (OWN.milliseconds, OWN.bytes_sent) == (0.5, 20)
    assert (OTHER.milliseconds, OTHER.bytes_sent) == (5, 5)
    assert times(OTHER, OWN) == ("10", "0.25")
    table = tabulate(Task.ARGMAX, OWN, {MPYC: OTHER})
    assert [list(column.cells) for column in table.columns[2:]] == [
        ["party 0.25, guardian 0.25", "both parties 5"],
        ["0.5", "5"],
        ["20", "5"],
        ["3", "7"],
        ["1", "10"],
        ["1", "0.25"],
    ]


@pytest.mark.parametrize(
    ("figure", "told"), [(0.0131, "0.013"), (4.77, "4.8"), (31.06, "31"), (363.4, "363"), (1234.5, "1,234")]
)
def test_figures_have_two_digits_or_all_before_the_point(figure: float, told: str) -> None:
    assert tell(figure) == told


def test_each_role_has_its_median() -> None:
    runs = [{"party": 1.0, "guardian": 9.0}, {"party": 3.0, "guardian": 5.0}, {"party": 2.0, "guardian": 7.0}]
    assert median_of(runs) == {"party": 2.0, "guardian": 7.0}


def test_steps_are_added_up_by_role_and_a_turn_is_a_message() -> None:
    steps = [
        Work("case", 10, "querying party", "encrypt", 2.0, 300.0),
        Work("case", 10, "querying party", "public key", 1.0, 20.0),
        Work("case", 10, "party", "read keys", 0.5, 0.0),
        Work("case", 10, "party", "evaluate", 4.0, 80.0),
        Work("case", 10, "querying party", "decrypt", 3.0, 0.0),
    ]
    found = summarize([steps, steps, steps], 10)
    assert found.seconds == pytest.approx({"querying party": 0.06, "party": 0.045})
    assert (found.sent, found.messages) == (4000, 2)


def test_the_last_line_of_a_program_is_read(tmp_path: Path) -> None:
    told = json.dumps(asdict(OTHER))
    install_interpreter(tmp_path, f"""test "$1" = -c || printf '%s\\n' "$*" '{told}'""")
    assert run_peer(MPYC, tmp_path, 3) == OTHER


@pytest.mark.parametrize("peer", [MPYC, PRIO3])
def test_what_is_not_installed_is_told_and_left_out(
    peer: Peer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install_interpreter(tmp_path, "exit 1")
    monkeypatch.setattr(command, "OWN", dict.fromkeys(Task, lambda _: OWN))
    monkeypatch.setattr(command, "PEERS", (peer,))
    command.main(peers=True, folder=tmp_path, repeats=1, json=None)
    told = capsys.readouterr().out.replace("\n", " ")
    assert f"{peer.name}: not installed: " in told
    assert told.count("Ostraka 1.0") == len(Task)
