"""`ostraka guardian ...`: one file for each group of commands."""
