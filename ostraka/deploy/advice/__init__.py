"""Advice before anything is spent: the value of each way of learning together, estimated on a table."""
