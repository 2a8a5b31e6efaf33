"""Data-dependent costs of released batches, computed after their answers left and apart from later ones."""

from ostraka.guardian.figures.figures import Figures, Store, computing

__all__ = ["Figures", "Store", "computing"]
