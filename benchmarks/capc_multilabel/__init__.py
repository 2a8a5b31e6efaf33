"""Retraining by multi-label votes (Dziedzic et al. 2023): `python -m benchmarks.capc_multilabel`."""
