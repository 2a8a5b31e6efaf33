"""Probing: own records of known labels are asked of small groups of parties, to find one that votes badly."""
