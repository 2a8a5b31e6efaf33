"""The answering party: teachers behind gRPC."""
