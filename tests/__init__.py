"""Tests, and what they are made of."""

# Before any module imports gRPC, which reads its environment once: Ostraka says what it is to write and take.
import ostraka  # noqa: F401
