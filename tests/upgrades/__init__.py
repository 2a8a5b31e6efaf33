"""Files written by released versions, frozen as written, and opened by today's code."""

# Before any module imports gRPC, which reads its environment once: Ostraka sets that environment.
import ostraka  # noqa: F401
