"""The scheme of linear heads."""

from ostraka.common.crypto.linear.linear_evaluation import LinearEvaluator
from ostraka.common.crypto.linear.linear_keys import LinearKeys
from ostraka.common.crypto.linear.linear_messages import LOGIT_BYTES, POLYNOMIAL_BYTES, queries_bytes


class LinearScheme:
    """Queries in coefficients, masks uniform modulo 2^64 (`inference.Scheme`)."""

    def keys(self) -> LinearKeys:
        """Fresh keys."""
        return LinearKeys()

    def evaluator(self, public: bytes, context: bytes) -> LinearEvaluator:
        """Return what evaluates under a party's keys; raise `message.invalid` for keys of another size."""
        return LinearEvaluator(public, context)

    def queries_bytes(self, features: int) -> int:
        """Bytes of a batch of encrypted queries, however many they are."""
        return queries_bytes(features)

    def most_public_bytes(self) -> int:
        """Bytes of the public key."""
        return POLYNOMIAL_BYTES

    def logits_bytes(self, outputs: int) -> int:
        """Bytes of the encrypted logits of one head for a batch."""
        return outputs * LOGIT_BYTES
