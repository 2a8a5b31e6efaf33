"""How both ends notice that a connection leads nowhere although nobody refuses it, as behind a cut cable."""

EVERY_S = 15.0
"""A caller that waits for a reply asks so often whether the other end is there."""
ANSWER_S = 15.0
"""For how long the other end may be silent then, before its calls count as unavailable."""


def calling() -> list[tuple[str, int]]:
    """A channel's options."""
    return [
        ("grpc.keepalive_time_ms", _ms(EVERY_S)),
        ("grpc.keepalive_timeout_ms", _ms(ANSWER_S)),
        ("grpc.http2.ping_timeout_ms", _ms(ANSWER_S)),
        ("grpc.http2.max_pings_without_data", 0),
    ]


def serving() -> list[tuple[str, int]]:
    """A server's options: it lets callers ask twice as often as ours do."""
    return [("grpc.http2.min_ping_interval_without_data_ms", _ms(EVERY_S / 2))]


def _ms(seconds: float) -> int:
    return int(seconds * 1000)
