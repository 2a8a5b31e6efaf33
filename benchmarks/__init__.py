"""Measurements, as ratios to something plain on the same machine: `python -m benchmarks`."""

import os

# gRPC reads it when it is imported. It would write a line for each connection that a guardian closes as idle,
# which says nothing of a fault, between the tables.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
