"""Two-party computation and encrypted inference: pure functions and values, no gRPC and no clock."""
