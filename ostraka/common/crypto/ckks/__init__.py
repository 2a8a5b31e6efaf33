"""Encrypted inference: CKKS, a query per slot, a ciphertext per feature (Cheon, Kim, Kim and Song 2017)."""
