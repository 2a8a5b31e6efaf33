"""Learning of networks from few labels: augmentations, objectives and one training loop."""
