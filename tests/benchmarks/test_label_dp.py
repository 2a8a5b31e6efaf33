import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

from benchmarks.label_dp import data, methods
from benchmarks.label_dp.__main__ import QUICK, app
from benchmarks.label_dp.cells import Cell, cells, load_or_measure
from benchmarks.label_dp.data import CLASSES, SIZES, Dataset, load
from benchmarks.label_dp.methods import Bench, Measure
from benchmarks.label_dp.pate import DELTA, Labelling, Votes, within
from benchmarks.label_dp.settings import (
    BASELINES,
    EPSILONS,
    METHODS,
    NOISE_CLUSTER,
    PATE_FM_LEARNERS,
    VERY_SMALL,
)
from benchmarks.label_dp.tables import tables
from ostraka.common.privacy import budget_rdp, epsilon, propose_order
from ostraka.guardian.accounting import confident_rdp
from ostraka.guardian.noise import LATTICE

TEACHERS = 200


def unanimous(queries: int, agreeing: int = TEACHERS) -> Votes:
    """Votes of which so many agree."""
    y = np.arange(queries) % 10
    cast = np.tile(y, (TEACHERS, 1))
    cast[agreeing:] = (y + 1) % 10
    return Votes(np.arange(queries), cast.astype(np.uint8), 10)


@pytest.mark.heavy
def test_what_is_quick_runs_everything_and_measures_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output, image = tmp_path / "out.json", tmp_path / "plot.png"
    command = ["--quick", "--cache", str(tmp_path), "--json", str(output), "--image", str(image)]
    first = CliRunner().invoke(app, command)
    assert first.exit_code == 0, first.output
    assert "RandRes + DenoiseSSL" in first.output
    found = json.loads(output.read_text())["cells"]
    assert len(found) == len(list(cells(Dataset.DIGITS, 1)))
    assert image.read_bytes().startswith(b"\x89PNG")
    monkeypatch.setattr(Bench, "measure", None)
    assert CliRunner().invoke(app, command).output == first.output


def test_without_the_data_a_dataset_is_skipped_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.label_dp.data.DATA", tmp_path)
    skipped = CliRunner().invoke(app, ["--only", "mnist", "--cache", str(tmp_path)])
    assert skipped.exit_code == 0
    assert "skipped" in skipped.stderr


def test_clusters_are_labelled_as_a_guardian_does(tmp_path: Path) -> None:
    bench = Bench(load(Dataset.DIGITS, QUICK, 0), QUICK, 0, tmp_path)
    without, drowned = (bench.measure(NOISE_CLUSTER, budget).private or 0.0 for budget in (1000.0, 1e-4))
    assert without > 0.6
    assert drowned < without


@pytest.mark.heavy
@pytest.mark.parametrize("budget", EPSILONS)
def test_labels_of_pate_fm_cost_no_more_than_the_budget(budget: float) -> None:
    votes = unanimous(400)
    bought = within(votes, budget)
    assert bought.asked > 0
    assert len(bought.rows) <= bought.asked <= 400
    assert (bought.y == bought.rows % 10).mean() > 0.9
    order, chosen = propose_order(budget, DELTA), votes.mechanism
    asked, limit = np.arange(len(votes.rows)), budget_rdp(budget, DELTA, order)
    given, failing, passing = (
        confident_rdp(
            votes.counts.astype(float),
            chosen.threshold,
            chosen.sigma1,
            chosen.sigma2,
            np.array([order]),
            answered,
            bound="exact",
            lattice=LATTICE,
        )[:, 0]
        for answered in (np.isin(asked, bought.rows), asked < 0, asked >= 0)
    )
    spent = given[: bought.asked].sum()
    assert epsilon(float(spent), order, DELTA) <= budget <= max(bought.worst_case, budget)
    largest = np.maximum(failing, passing)
    assert given[: bought.asked - 1].sum() + largest[bought.asked - 1] <= limit
    assert bought.asked == len(asked) or spent + largest[bought.asked] > limit


@pytest.mark.heavy
def test_a_larger_budget_buys_more_labels_and_disputed_votes_fewer() -> None:
    agreed, disputed = (
        [within(unanimous(2000, agreeing), budget).asked for budget in (0.5, 2.0)] for agreeing in (200, 110)
    )
    assert agreed[0] < agreed[1]
    assert disputed[1] < agreed[1]


def test_tables_say_means_deviations_and_what_is_missing() -> None:
    measures = {
        Cell(Dataset.DIGITS, "ldp-ssl", 1.0, seed): Measure(accuracy)
        for seed, accuracy in enumerate((0.5, 0.7))
    }
    text = "\n".join(tables(measures, {Dataset.DIGITS: SIZES[Dataset.DIGITS]}))
    assert "| RandRes + LDP-SSL | - | - | 60.0 (14.1) | - | - |" in text
    assert "| digits, Equation 6 | 15.5 ± 0.6 | 23.2 ± 0.7 |" in text


def test_a_dataset_that_has_no_size_is_refused_in_a_sentence(tmp_path: Path) -> None:
    refused = CliRunner().invoke(app, ["--only", "pairs", "--cache", str(tmp_path)])
    assert refused.exit_code == 2
    assert "take one of digits, mnist, adult" in refused.output


@pytest.mark.parametrize("dataset", [Dataset.PAIRS, Dataset.OPTDIGITS])
def test_what_stands_in_for_other_data_are_images_of_all_classes(dataset: Dataset) -> None:
    if not data.available(dataset):
        pytest.skip("../shared/data lies not beside the checkout")
    split = load(dataset, replace(QUICK, train=2000, test=500), 0)
    assert len(np.unique(split.y)) == split.classes == CLASSES[dataset]
    assert split.shape == ((8, 16) if dataset is Dataset.PAIRS else (8, 8))
    assert split.X.shape == (2000, split.shape[0] * split.shape[1])
    assert len(split.y_test) == 500


def test_pairs_are_of_the_digits_that_they_say_and_none_to_test_on_is_learned_from() -> None:
    split = load(Dataset.PAIRS, replace(QUICK, train=3000, test=300), 0)
    digits = load(Dataset.DIGITS, replace(QUICK, train=1796, test=1), 0)
    X, y = np.concatenate([digits.X, digits.X_test]), np.concatenate([digits.y, digits.y_test])
    truth = {row.tobytes(): int(label) for row, label in zip(X, y, strict=True)}
    learned, tested = list(halves(split.X)), list(halves(split.X_test))
    assert [10 * truth[left] + truth[right] for left, right in learned] == split.y.tolist()
    assert not {half for pair in learned for half in pair} & {half for pair in tested for half in pair}


def halves(X: NDArray[np.float32]) -> Iterator[tuple[bytes, bytes]]:
    for row in X.reshape(-1, 8, 2, 8):
        left, right = (np.ascontiguousarray(row[:, side]).tobytes() for side in (0, 1))
        yield left, right


def test_every_method_has_a_row_for_every_epsilon() -> None:
    wanted = {(cell.method, cell.epsilon) for cell in cells(Dataset.DIGITS, 2)}
    assert {(method, budget) for method in (*METHODS, *BASELINES) for budget in EPSILONS} <= wanted
    assert (NOISE_CLUSTER, VERY_SMALL) in wanted


@pytest.mark.heavy
def test_learners_that_doubt_pate_fm_learn_what_its_student_says_of_all_training_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(load(Dataset.DIGITS, QUICK, 0), QUICK, 0, tmp_path)
    rows = np.arange(100)
    labelling = Labelling(rows, load(Dataset.DIGITS, QUICK, 0).y[rows], 100, 1.0)
    monkeypatch.setattr(methods, "within", lambda votes, budget: labelling)
    found = {method: bench.measure(method, 4.0) for method in PATE_FM_LEARNERS}
    assert all(one.accuracy is not None for one in found.values())
    learned = [one.learned for method, one in found.items() if not method.endswith("denoise-ssl")]
    assert learned == [QUICK.train] * 2
    assert len({one.private for one in found.values()}) == 1
    alike = np.zeros(QUICK.train, np.int64)
    alike[0] = 1
    assert bench._learn_with_doubts("denoise-ssl", alike).accuracy is None
    none = replace(labelling, rows=rows[:1], y=labelling.y[:1])
    monkeypatch.setattr(methods, "within", lambda votes, budget: none)
    assert bench.measure(PATE_FM_LEARNERS[0], 0.5) == Measure(None)


def test_a_cell_is_measured_once(tmp_path: Path) -> None:
    cell = Cell(Dataset.DIGITS, NOISE_CLUSTER, 1.0, 0)
    bench = Bench(load(Dataset.DIGITS, QUICK, 0), QUICK, 0, tmp_path)

    def none(dataset: Dataset, seed: int) -> Bench:
        raise AssertionError("measured again")

    kept: Callable[[Dataset, int], Bench] = lambda dataset, seed: bench  # noqa: E731
    assert load_or_measure(cell, QUICK, kept, tmp_path) == load_or_measure(cell, QUICK, none, tmp_path)
    with pytest.raises(AssertionError, match="measured again"):
        load_or_measure(cell, replace(QUICK, clusters=11), none, tmp_path)
