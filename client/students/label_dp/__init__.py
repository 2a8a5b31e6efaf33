"""Label differential privacy: features are known to all, labels are secret (001)."""
