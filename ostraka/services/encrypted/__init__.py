"""Votes on encrypted queries: heads evaluated under encryption, ballots computed in garbled circuits."""
