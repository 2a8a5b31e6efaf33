"""Which columns are counted."""

import numpy as np
import pytest

from ostraka.client.describing.counted_columns import MAX_COLUMNS, choose_columns
from ostraka.common.datasets import from_arrays
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task import infer_task


def test_no_more_columns_are_counted_than_noise_allows() -> None:
    X = np.random.default_rng(0).normal(size=(4, MAX_COLUMNS + 1))
    task = infer_task(from_arrays(X, np.arange(4) % 2), "wide")
    names = tuple(task.columns)
    assert len(choose_columns(task, names[:MAX_COLUMNS])) == MAX_COLUMNS
    with pytest.raises(OstrakaError, match=f"from 1 to {MAX_COLUMNS}") as refused:
        choose_columns(task, names[: MAX_COLUMNS + 1])
    assert refused.value.code is ErrorCode.CONFIG_INVALID
