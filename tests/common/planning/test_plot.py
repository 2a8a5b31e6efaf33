"""Curves and the picture they make."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import GnMax
from ostraka.common.planning.candidate import Candidate, queries_up_to, worst_case_curve
from ostraka.common.planning.plot import draw
from ostraka.common.privacy import epsilon
from ostraka.common.privacy.argmax import argmax_rdp

CANDIDATE = Candidate(GnMax(sigma=40.0), classes=8)


def test_a_curve_is_the_epsilon_of_each_number_of_queries() -> None:
    curve = worst_case_curve("gnmax", CANDIDATE, 8.0, 1e-5, np.array([1, 500]))
    assert curve.epsilon.tolist() == pytest.approx(
        [epsilon(count * argmax_rdp(8.0, 1.0, 40.0, 8), 8.0, 1e-5) for count in (1, 500)], rel=1e-9
    )


def test_queries_to_draw_at() -> None:
    assert queries_up_to(3).tolist() == [1, 2, 3]
    many = queries_up_to(100_000)
    assert (many[0], many[-1], len(many)) == (1, 100_000, 60)


def test_a_plot_names_its_lines_and_budgets(tmp_path: Path) -> None:
    curve = worst_case_curve("gnmax, worst case", CANDIDATE, 8.0, 1e-5, queries_up_to(500))
    draw(tmp_path / "plan.svg", [curve], [3.0], "gnmax")
    text = (tmp_path / "plan.svg").read_text()
    assert "gnmax, worst case" in text
    assert "budget 3" in text


@pytest.mark.heavy
def test_a_picture_shows_a_line_for_each_curve(tmp_path: Path) -> None:
    one, other = (worst_case_curve(name, CANDIDATE, 8.0, 1e-5, queries_up_to(50)) for name in "ab")
    path, seen = tmp_path / "plan.png", []
    for curves in ([one], [one, other]):
        draw(path, curves, [3.0], "gnmax")
        pixels = (imread(path)[..., :3] * 255).round().astype(int)
        seen.append(
            [bool((pixels == colour).all(axis=-1).any()) for colour in ((0, 114, 178), (0, 158, 115))]
        )
    assert seen == [[True, False], [True, True]]


@pytest.mark.parametrize(("name", "told"), [("plan.pdf", "not a picture"), ("no/folder.png", "Cannot write")])
def test_a_plot_that_cannot_be_written_is_refused(tmp_path: Path, name: str, told: str) -> None:
    curve = worst_case_curve("gnmax", CANDIDATE, 8.0, 1e-5, queries_up_to(5))
    with pytest.raises(OstrakaError, match=told) as refused:
        draw(tmp_path / name, [curve], [3.0], "gnmax")
    assert refused.value.code is ErrorCode.CONFIG_INVALID
