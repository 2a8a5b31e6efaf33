"""What a fit's folder tells, and when it is another fit's."""

from pathlib import Path

import pytest

from ostraka.client.fitting.fit_options import FitOptions
from ostraka.client.fitting.fit_state import FIT_FILE, FitState, fit_figures, load_fit, require_same
from ostraka.client.learners.fit import FitReport
from ostraka.common.errors import ErrorCode, OstrakaError

STATE = FitState(
    task="people",
    task_sha256="ab",
    options=FitOptions(),
    pool=3,
    pool_sha256="01",
    labelled=2,
    own_sha256="02",
    records=100,
    mu=0.3,
    learner="boost",
    reason="It was asked for.",
    rounds=4,
    tells=(),
    tells_pool=True,
    warnings=(),
    costs=(),
)


def test_a_fit_is_kept_as_it_is(tmp_path: Path) -> None:
    assert load_fit(tmp_path) is None
    report = FitReport("boost", 100.0, ("a",), rounds=3, rounds_planned=4, notes=("It ended.",))
    made = STATE.model_copy(update={"report": report})
    made.keep(tmp_path)
    assert load_fit(tmp_path) == made
    assert not made.is_done, "a model of fewer rounds goes on"
    assert fit_figures(tmp_path, made)["notes"] == ["It ended."]
    assert fit_figures(tmp_path, STATE)["model"] is None


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"pool_sha256": "03"}, "other pool"),
        ({"own_sha256": "03"}, "other labelled records"),
        ({"task_sha256": "03"}, "other task"),
        ({"options": FitOptions(epsilon=2, quorum=3)}, "other epsilon and quorum"),
    ],
)
def test_another_fit_is_refused_by_what_differs(
    tmp_path: Path, change: dict[str, object], named: str
) -> None:
    require_same(tmp_path, STATE, STATE)
    with pytest.raises(OstrakaError) as refused:
        require_same(tmp_path, STATE, STATE.model_copy(update=change))
    assert refused.value.code is ErrorCode.RUN_MISMATCH
    assert named in refused.value.message


def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    (tmp_path / FIT_FILE).write_text("{")
    with pytest.raises(OstrakaError) as refused:
        load_fit(tmp_path)
    assert refused.value.code is ErrorCode.RUN_MISMATCH
