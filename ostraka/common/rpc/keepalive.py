"""Keepalive settings by which both ends detect a dead connection, such as a cut cable."""

EVERY_S = 15.0
"""Interval of pings from both ends; a caller pings only while it waits for a reply."""
ANSWER_S = 15.0
"""Time after a ping without a sign of life before calls are given up."""


def calling() -> list[tuple[str, int]]:
    """Return a channel's options."""
    return _asking()


def serving() -> list[tuple[str, int]]:
    """Return a server's options: it pings its callers too, and allows twice as many pings as ours send."""
    return [
        *_asking(),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", _ms(EVERY_S / 2)),
    ]


def _asking() -> list[tuple[str, int]]:
    return [
        ("grpc.keepalive_time_ms", _ms(EVERY_S)),
        ("grpc.keepalive_timeout_ms", _ms(ANSWER_S)),
        # Pings wait behind data that are being sent, so over a slow link answers take longer than the silence
        # limit.
        ("grpc.http2.ping_timeout_ms", _ms(EVERY_S + ANSWER_S)),
        ("grpc.http2.max_pings_without_data", 0),
    ]


def _ms(seconds: float) -> int:
    return int(seconds * 1000)
