"""Sessions, their batches, and the charges of releases."""
