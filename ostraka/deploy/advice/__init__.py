"""Advice before anything is spent: what a table shows that each way of learning together would be worth."""
