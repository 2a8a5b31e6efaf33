"""The runs that make the cells: each takes a job and returns an outcome."""
