"""Runs of one pool that each ask about some labels: parents before children, or groups with own settings."""
