"""Cost of ballots that are verified without being seen (docs/verified-ballots.md)."""
