"""Models from noisy sums beside own data, pooled data and central DP-SGD."""
