"""Sources of sums: the parties of a federation, or records in this process."""
