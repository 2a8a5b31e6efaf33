"""Columns of free text as counts of hashed words; nothing is learned from the texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ostraka.common.datasets.word_columns import is_missing, texts

if TYPE_CHECKING:
    import pyarrow as pa


def hash_words(values: pa.ChunkedArray, width: int, words: int) -> NDArray[np.float32]:
    """Return the features (N, width) of texts: hashed counts of up to `words` words in a row, of length 1.

    This is scikit-learn's HashingVectorizer; its hash, MurmurHash3, is the same on every machine. A missing
    text has no words. Raises `UnreadableValuesError` for values that are not text.
    """
    import pyarrow.compute as pc
    from sklearn.feature_extraction.text import HashingVectorizer

    written = texts(values)
    known = pc.if_else(is_missing(written), "", written).to_pylist()
    hashing = HashingVectorizer(
        n_features=width, ngram_range=(1, words), alternate_sign=False, norm="l2", dtype=np.float32
    )
    features: NDArray[np.float32] = hashing.transform(known).toarray()
    return features
