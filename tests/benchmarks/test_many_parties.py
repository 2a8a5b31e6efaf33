"""The simulation of many parties: the same every time, and what arithmetic says where that is exact."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from benchmarks import many_parties
from benchmarks.many_parties import (
    Core,
    Costs,
    Events,
    predict_quorum,
    predict_storm,
    simulate_batch,
    simulate_storm,
)

SURE = Costs(spread=0.0, missing=0.0, answer_s=1.0, freeze_s=0.0)
"""Everybody answers, and takes as long as everybody else."""


def test_a_core_does_one_thing_after_the_other() -> None:
    events = Events()
    core = Core(events)
    done: list[tuple[str, float]] = []

    def begin(name: str) -> None:
        core.do(2.0, lambda: done.append((name, events.now)))

    for name, time_s in (("first", 1.0), ("second", 1.5), ("third", 9.0)):
        events.at(time_s, partial(begin, name))
    events.run()
    assert done == [("first", 3.0), ("second", 5.0), ("third", 11.0)]
    assert core.busy_s == 6.0


def test_a_seed_gives_one_storm_and_one_batch() -> None:
    assert simulate_storm(50, 3.0, 1) == simulate_storm(50, 3.0, 1) != simulate_storm(50, 3.0, 2)
    assert simulate_batch(50, 1) == simulate_batch(50, 1) != simulate_batch(50, 2)


def test_a_storm_takes_the_longest_pause_or_the_relays_work() -> None:
    few = simulate_storm(50, 30.0, 1)
    assert 0.7 * predict_storm(50) < few.all_s <= predict_storm(50)
    slow = Costs(attach_s=0.05)
    many = simulate_storm(150, 30.0, 1, slow)
    assert many.all_s == pytest.approx(150 * 0.05, rel=0.1)
    assert many.tries == 150


def test_a_relay_that_cannot_keep_up_works_for_sites_that_gave_up() -> None:
    storm = simulate_storm(300, 30.0, 1, Costs(attach_s=0.05))
    assert storm.tries > 300
    assert storm.all_s > predict_storm(300, Costs(attach_s=0.05))


def test_a_quorum_comes_when_the_slowest_core_is_done() -> None:
    slow = replace(SURE, share_s=0.1)
    batch = simulate_batch(100, 1, slow)
    assert batch.quorum_s == pytest.approx(predict_quorum(100, slow), rel=0.05)
    assert batch.guardian_s == pytest.approx(100 * (0.1 + slow.release_s))
    assert batch.end_s > batch.quorum_s


def test_silent_parties_have_a_batch_wait_for_the_policy_or_twice_the_quorum() -> None:
    batch = simulate_batch(200, 1, replace(SURE, missing=0.05))
    assert batch.end_s == pytest.approx(max(2.0, 2 * batch.quorum_s) + 200 * SURE.release_s)
    assert simulate_batch(200, 1, SURE).end_s < batch.end_s


def test_both_tables_are_printed_and_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(many_parties, "STORMS", (50,))
    monkeypatch.setattr(many_parties, "COHORTS", (60,))
    target = tmp_path / "many.svg"
    many_parties.main(seed=1, down=3.0, plot=target)
    rows = [line.split("│") for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
    assert [row[1].strip() for row in rows] == ["50", "60"]
    assert rows[0][5].strip() == "50"
    assert "seconds until a quorum is in" in target.read_text()
