"""The worst-case cost of a noisy argmax whose counts do not wrap around (docs/accounting-argmax.md)."""
