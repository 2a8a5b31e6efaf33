"""Messages of the protocol as they were, and who writes them."""

# Before any module imports gRPC, which reads its environment once: Ostraka says what it is to take.
import ostraka  # noqa: F401
