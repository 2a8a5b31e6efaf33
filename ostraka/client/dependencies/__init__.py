"""Runs of one pool that ask about some labels each: parents before children, or groups with own settings."""
