"""Where answers to sums come from: the parties of a federation, or records in this process."""
