"""One-hot encoders: columns are found by search in categories and reach a sparse matrix unchecked."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def is_sound_one_hot(encoder: Any) -> bool:
    """Whether every category that is found has a column: each rises, and none is dropped or grouped."""
    categories = encoder.categories_
    return bool(
        encoder.drop_idx_ is None
        and encoder._drop_idx_after_grouping is None
        and encoder._infrequent_enabled is False
        and len(categories) == encoder.n_features_in_
        and list(encoder._n_features_outs) == [len(values) for values in categories]
        and all(map(_rises, categories))
    )


def _rises(values: NDArray[Any]) -> bool:
    """Whether numbers rise strictly, no number being the last."""
    if values.ndim != 1 or len(values) == 0 or values.dtype.kind not in "biuf":
        return False
    numbers = values[:-1] if np.isnan(values[-1]) else values
    return bool((numbers[:-1] < numbers[1:]).all() and not np.isnan(numbers).any())


def is_sound_function(transformer: Any) -> bool:
    """Whether a function transformer calls nothing, as a passed-through column's does."""
    return transformer.func is None and transformer.inverse_func is None
