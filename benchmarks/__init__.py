"""Benchmarks, as ratios to a plain baseline on the same machine: `python -m benchmarks`."""

# Before any module imports gRPC, which reads its environment variables once: importing ostraka sets them.
import ostraka  # noqa: F401
