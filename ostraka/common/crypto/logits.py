"""Logits of encrypted queries: the kinds of heads that give them, and the unit of their shares."""

from typing import Literal, get_args

Head = Literal["linear", "square", "square-mlp", "square-cnn"]
"""Kinds of models that run on encrypted queries: affine, or affine, square, affine; `square` by products."""
HEADS: tuple[Head, ...] = get_args(Head)

LOGIT_RANGE = 1.0
"""Heads are scaled so that their logits lie within +-LOGIT_RANGE on the records they were trained on."""
LOGIT_FRACTION = 13
"""Shares of logits count steps of 2^-13."""
LOGIT_BITS = 16
"""Shares of logits are integers modulo 2^16: logits up to four times LOGIT_RANGE; beyond that they wrap."""
