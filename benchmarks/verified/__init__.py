"""What ballots cost that are verified without being seen (docs/verified-ballots.md)."""
