"""Networks trained by DP-SGD, what users would try instead of votes: `python -m benchmarks.dpsgd`."""
