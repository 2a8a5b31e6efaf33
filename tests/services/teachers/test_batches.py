"""How many records a step of training takes."""

import pytest

from ostraka.services.teachers import TrainingConfig
from ostraka.services.teachers.batches import MAX_BATCH, Schedule


@pytest.mark.parametrize(
    ("records", "batch", "pace"),
    [(MAX_BATCH - 1, MAX_BATCH - 1, 1), (MAX_BATCH, MAX_BATCH, 1), (MAX_BATCH + 1, MAX_BATCH, 2)],
)
def test_a_step_takes_so_many_records_and_no_more(records: int, batch: int, pace: int) -> None:
    schedule = Schedule.of([records, records], "mlp", None, TrainingConfig(teachers=2))
    assert (schedule.batch, schedule.pace) == (batch, pace)
