"""Data-dependent costs of released batches, computed after their answers left and away from later ones."""

from ostraka.guardian.figures.figures import Figures, computing

__all__ = ["Figures", "computing"]
