"""Votes on a batch: who votes, and how their shares leave."""
