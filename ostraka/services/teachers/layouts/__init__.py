"""Evaluation and training of many networks at once."""
