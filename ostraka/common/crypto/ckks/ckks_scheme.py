"""The scheme of heads with squares."""

from ostraka.common.crypto.ckks.ckks_evaluation import CkksEvaluator
from ostraka.common.crypto.ckks.ckks_keys import CkksKeys
from ostraka.common.crypto.ckks.parameters import SQUARES
from ostraka.common.crypto.ckks.wire import logits_bytes, most_public_bytes, queries_bytes


class CkksScheme:
    """Queries in slots, masks that hide honest queries alone (`inference.Scheme`)."""

    def keys(self) -> CkksKeys:
        """Fresh keys (a tenth of a second)."""
        return CkksKeys()

    def evaluator(self, public: bytes, context: bytes) -> CkksEvaluator:
        """Return what evaluates under a party's keys; may raise `crypto.refused` or `message.invalid`."""
        return CkksEvaluator(SQUARES, public)

    def queries_bytes(self, features: int) -> int:
        """Bytes of a batch of encrypted queries, however many they are."""
        return queries_bytes(SQUARES, features)

    def most_public_bytes(self) -> int:
        """Bytes of the public keys, at most."""
        return most_public_bytes(SQUARES)

    def logits_bytes(self, outputs: int) -> int:
        """Bytes of the encrypted logits of one head for a batch."""
        return logits_bytes(SQUARES, outputs)
