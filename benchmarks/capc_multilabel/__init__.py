"""Retraining over many sites with multi-label votes, as in 000: `python -m benchmarks.capc_multilabel`."""
