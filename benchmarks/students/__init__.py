"""Students that learn from few private labels: `python -m benchmarks.students`."""
