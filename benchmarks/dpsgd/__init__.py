"""Networks trained by DP-SGD, an alternative to votes: `python -m benchmarks.dpsgd`."""
