"""Words for yes and no."""

import numpy as np
import pyarrow as pa
import pytest

from ostraka.common.datasets.word_columns import truth_values


@pytest.mark.parametrize("words", [["1.00", "0.00", ""], ["1,00", "0,0", None], ["1", "0.0", "NA"]])
def test_1_and_0_with_decimals_say_yes_and_no(words: list[str | None]) -> None:
    np.testing.assert_array_equal(truth_values(pa.chunked_array([words])), [1, 0, np.nan])
