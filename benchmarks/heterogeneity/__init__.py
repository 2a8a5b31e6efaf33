"""Teachers whose records differ, as 004 has them: `python -m benchmarks.heterogeneity`."""
