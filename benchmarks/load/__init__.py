"""Load on a guardian: many light parties, real certificates, TLS, ledger and noise (docs/scale.md)."""

import os

# gRPC reads it when it is imported. It would write a line for each connection that a guardian closes as idle,
# which says nothing of a fault, between the tables.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
