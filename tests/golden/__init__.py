"""Recorded messages of earlier protocol versions, and the code that writes them."""

# Before any module imports gRPC, which reads its environment once: Ostraka sets that environment.
import ostraka  # noqa: F401
