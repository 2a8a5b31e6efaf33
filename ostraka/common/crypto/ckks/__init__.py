"""Encrypted inference: CKKS, one query a slot, one ciphertext a feature (Cheon, Kim, Kim and Song 2017)."""
