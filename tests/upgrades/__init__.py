"""What released versions wrote, frozen as they wrote it, and opened by the code of today."""

# Before any module imports gRPC, which reads its environment once: Ostraka says what it is to take.
import ostraka  # noqa: F401
