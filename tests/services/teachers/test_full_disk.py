"""Teachers that find no room on their disk."""

from pathlib import Path

import pytest

from ostraka.common.datasets import digits
from ostraka.common.errors import OstrakaError
from ostraka.common.task import infer_task
from ostraka.services.teachers import Ensemble, TrainingConfig, train
from ostraka.services.teachers.config import TEACHERS
from tests.disk import fill, free, small_disk


@pytest.mark.parametrize("model", ["logistic_regression", "mlp"])
def test_teachers_from_before_stay_and_nothing_is_half_written(tmp_path: Path, model: str) -> None:
    records = digits().take(slice(0, 200))
    task = infer_task(records, "digits")
    made = train(records, task, TrainingConfig(teachers=2, model=model, epochs=1), seed=1)
    with small_disk(tmp_path / "site", 1000) as site:
        made.save(site / TEACHERS)
        before = Ensemble.load(site / TEACHERS).manifest
        fill(site)
        with pytest.raises(OstrakaError, match=f"no room on the disk of {site}") as refused:
            made.save(site / TEACHERS)
        assert refused.value.code == "storage.full"
        assert Ensemble.load(site / TEACHERS).manifest == before
        assert sorted(path.name for path in site.iterdir()) == ["filler", TEACHERS]
        free(site)
        made.save(site / TEACHERS)


def test_a_training_that_finds_no_room_goes_on_after_what_it_finished(tmp_path: Path) -> None:
    records = digits().take(slice(0, 200))
    task = infer_task(records, "digits")
    config = TrainingConfig(teachers=60, model="logistic_regression")
    with (
        small_disk(tmp_path / "site", 500) as site,
        pytest.raises(OstrakaError, match=f"no room on the disk of {site}"),
    ):
        train(records, task, config, seed=1, unfinished=site / "unfinished")
