"""Measurements, as ratios to something plain on the same machine: `python -m benchmarks`."""
