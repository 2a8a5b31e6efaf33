"""What `make gpu` measures, on a card that is no machine's, and what it says where there is none."""

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks.gpu import __main__ as gpu
from benchmarks.gpu import figures
from benchmarks.gpu.figures import Size, measure
from ostraka.common.learning.device import Device
from tests.fake_card import FakeCards

SMALL = Size(teachers=2, records=4, epochs=1, queries=40, images=1, product=16, on_cpu=1)


def test_a_machine_without_a_card_says_so_and_is_done(
    cards: FakeCards, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cards.there = False
    monkeypatch.setattr(gpu, "_passes", None)
    told = CliRunner().invoke(gpu.app, ["--out", str(tmp_path / "gpu")], catch_exceptions=False)
    assert told.exit_code == 0
    assert told.stdout.startswith("no card: ")
    assert not (tmp_path / "gpu").exists()


@pytest.mark.heavy
def test_all_figures_are_of_the_card(cards: FakeCards, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "REPEATS", 1)
    monkeypatch.setattr(figures, "SPARE", 2**21)
    cards.memory = 2**28
    found = measure(Device("cuda"), SMALL)
    assert found.device.startswith("card:0 (Fake")
    assert found.agreement == found.short_agreement == 1
    assert found.shortages
    assert found.held_bytes is not None
    assert found.most_bytes is not None
    assert cards.most[0] >= found.most_bytes > found.held_bytes > 0
    assert found.bfloat16_tflops is None
    assert found.training_times_a_core > 0
    assert replace(found, bfloat16_tflops=2 * found.voting_tflops).voting_of_peak == 0.5
    assert f"| {found.device} | |" in gpu.table(found)
