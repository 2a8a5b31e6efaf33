"""Encrypted queries: each party's circuits turn shares of logits into shares of ballots that nobody sees."""
