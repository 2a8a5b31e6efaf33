"""What a noisy argmax costs at worst where no count wraps around the ring (docs/accounting-argmax.md)."""
