"""Certificates, servers and bars in the form in which people read them in a terminal."""

from collections.abc import Iterable
from datetime import UTC, datetime

from rich.console import RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ostraka.common.status.servers import CertificateStatus, Server

WARN_DAYS = 30
"""Days before a certificate's end from which a warning is shown."""
BAR = 24
"""Width of a bar, in characters."""


def certificates(own: CertificateStatus) -> Iterable[RenderableType]:
    """Yield the identity, the end, and what is wrong with the certificates."""
    told = f"{own.identity}: certificates until {moment(own.expires_unix_s)}, {own.days_left:g} days"
    lists = f"revocation list {own.revocations}" if own.revocations else "no revocation list"
    yield Text(f"{told}; {lists}.", style="yellow" if own.days_left < WARN_DAYS else "")
    if own.problem is not None:
        yield Text(str(own.problem), style="red")
    elif own.days_left < WARN_DAYS:
        yield Text("Make new keys with `ostraka site renew` and have them signed.", style="yellow")


def servers(title: str, found: Iterable[Server]) -> RenderableType:
    """Return a table with a row for every server."""
    table = Table("site", "address", "state", "version", "clock ahead", "list", title=title)
    for server in found:
        state = Text("answers", style="green") if server.problem is None else Text(str(server.problem), "red")
        answered = (server.version, f"{server.clock_ahead_s:g} s", str(server.revocations or "none"))
        table.add_row(
            server.site, server.address, state, *(answered if server.problem is None else ("", "", ""))
        )
    return table


def bar(part: float, whole: float) -> RenderableType:
    """Return a bar of how much is used."""
    return ProgressBar(total=whole or 1.0, completed=min(part, whole), width=BAR)


def moment(unix_s: float) -> str:
    """Return a time for people, in UTC."""
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%d %H:%M UTC")
