"""Label differential privacy: features are known to all, labels are secret (Tang et al. 2022)."""
