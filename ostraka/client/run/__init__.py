"""A labelling run: its folder, its plan and its state."""
