"""The benchmark of noisy sums: what is not here is said, and what is here is measured."""

from pathlib import Path

import pytest

from benchmarks.sums import data
from benchmarks.sums.__main__ import main
from benchmarks.sums.models import fit_sums
from ostraka.client.learners.problem import Category
from ostraka.common.errors import ErrorCode, OstrakaError


@pytest.mark.heavy
def test_data_that_are_not_here_are_skipped_and_digits_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(data, "DATA", tmp_path)
    main(data="pima,digits", epsilon="8", seeds=1, learn="auto,moments", central=False, json=None)
    shown = capsys.readouterr().out
    assert "pima: skipped: not here (pima.npz)" in shown
    assert "auto (gradients)" in shown
    accuracy = float(next(line for line in shown.splitlines() if "moments" in line).split("│")[2])
    assert 80 < accuracy < 100


def test_a_learner_that_is_not_known_is_refused() -> None:
    with pytest.raises(OstrakaError) as refused:
        fit_sums(data.DATA_SETS["digits"].draw(0), "votes", 1.0, 0)
    assert refused.value.code is ErrorCode.CONFIG_INVALID


def test_indicators_of_one_category_are_told_by_their_names() -> None:
    names = ["age", "work=a", "work=b", "work=c", "sex_f", "sex_m", "hours"]
    assert data.group_indicators(names) == (Category(1, 3), Category(4, 2))
