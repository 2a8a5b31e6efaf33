"""Measurements, as ratios to something plain on the same machine: `python -m benchmarks`."""

# Before any module imports gRPC, which reads its environment once: Ostraka says what it is to write and take.
import ostraka  # noqa: F401
