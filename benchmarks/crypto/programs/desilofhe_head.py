"""DesiloFHE: CKKS with its own parameters for one multiplication."""

from collections.abc import Sequence

from desilofhe import Engine

from benchmarks.crypto.programs.linear_head import Floats, main


class DesiloScheme:
    """A secret key, also used for encryption."""

    def __init__(self) -> None:
        self._engine = Engine(max_level=1)
        self._key = self._engine.create_secret_key()
        self.slots: int = self._engine.slot_count

    def encrypt(self, feature: Floats) -> bytes:
        """Encrypt one feature of a full ciphertext of queries."""
        return bytes(self._engine.serialize_ciphertext(self._engine.encrypt(feature, self._key)))

    def evaluate(self, features: Sequence[bytes], weights: Floats, biases: Floats) -> list[bytes]:
        """Return the logit of each class, encrypted."""
        read = [self._engine.deserialize_ciphertext(feature) for feature in features]
        logits = []
        for row, bias in zip(weights.tolist(), biases.tolist(), strict=True):
            total = self._engine.multiply(read[0], row[0])
            for feature, weight in zip(read[1:], row[1:], strict=True):
                total = self._engine.add(total, self._engine.multiply(feature, weight))
            total = self._engine.add(total, bias)
            logits.append(bytes(self._engine.serialize_ciphertext(total)))
        return logits

    def decrypt(self, logit: bytes) -> Floats:
        """Return one class's logit of each query."""
        decrypted: Floats = self._engine.decrypt(self._engine.deserialize_ciphertext(logit), self._key)
        return decrypted


if __name__ == "__main__":
    main("desilofhe", DesiloScheme)
