"""Label differential privacy: features are public, labels are secret (Tang et al. 2022)."""
