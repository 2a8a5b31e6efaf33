"""Sessions, their batches, and what releases are charged."""
