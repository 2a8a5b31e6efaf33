"""What makes the cells: each run takes a job and returns an outcome."""
