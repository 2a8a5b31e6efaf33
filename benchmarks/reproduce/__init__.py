"""Every table and figure of the five papers: one command, one page."""
