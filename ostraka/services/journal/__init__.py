"""A party's journal of its answers, and the receipts that it sends."""
