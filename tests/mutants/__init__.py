"""Faults planted one at a time, each of which a test must find: `python -m tests.mutants`."""
