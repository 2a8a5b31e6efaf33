"""Exact Renyi divergences of releases, the largest over all neighbours."""
