"""Models from noisy sums compared with own data, pooled data and central DP-SGD."""
