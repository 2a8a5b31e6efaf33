"""Relays, sites and proxies with real sockets, for tests."""

import asyncio
import base64
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from ostraka.common.config import SITE_FILE, SiteConfig, load_site, split_address, write_site
from ostraka.common.identity import Credentials, Identity, Role
from ostraka.relay.server import looping
from tests.common.federation import NAME, Federation

HUB = Identity(NAME, "hub", Role.RELAY)
UNUSED = "127.0.0.1:1"
LIMIT = 1 << 18


def make_relay(federation: Federation, listen: str = "127.0.0.1:0", table: str = "") -> Path:
    """Return the folder of a relay."""
    own = federation.issue(HUB)
    write_site(SiteConfig(federation=NAME, site="hub", role="relay", listen=listen, folder=own.folder))
    append(own.folder, f"[relay]\n{table}" if table else "")
    return own.folder


def make_site(federation: Federation, identity: Identity, relay: str, table: str = "") -> SiteConfig:
    """Return a site that attaches to the relay at an address."""
    own = federation.issue(identity)
    listen = {"listen": "127.0.0.1:0"} if identity.role in (Role.PARTY, Role.GUARDIAN) else {}
    guardian = {} if identity.role is Role.GUARDIAN else {"guardian": UNUSED}
    site = SiteConfig(
        federation=NAME,
        site=identity.site,
        role=identity.role.value,
        folder=own.folder,
        **listen,
        **guardian,
    )
    write_site(site)
    append(own.folder, f'[relay]\naddress = "{relay}"\nsite = "hub"\n{table}')
    return load_site(own.folder)


def append(folder: Path, text: str) -> None:
    with (folder / SITE_FILE).open("a") as file:
        file.write(f"\n{text}")


def credentials(site: SiteConfig) -> Credentials:
    return Credentials.of(site)


@dataclass
class Corporation:
    """An organization's own CA, with which a proxy ends TLS for other names."""

    root: Path
    root_key: Path
    certificate: Path
    key: Path


class Proxy:
    """An HTTP CONNECT proxy.

    It may require a user and password, and may inspect: then it ends TLS itself, requires HTTP/1.1 inside it
    as inspecting proxies do, and forwards with its own TLS.
    """

    def __init__(
        self, user: str = "", inspects: Corporation | None = None, hosts: Mapping[str, str] | None = None
    ) -> None:
        """Take the required credentials, the CA for inspection, and addresses of names that do not exist."""
        self._hosts = hosts or {}
        self.connected: list[str] = []
        self.seen = bytearray()
        self._expected = base64.b64encode(user.encode()).decode() if user else ""
        self._inspects = inspects

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted = writer.transport  # TLS takes its place
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                await self._serve(reader, writer)
            await _end(writer)
        finally:
            accepted.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        if self._expected and f"Basic {self._expected}" not in head:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            return
        method, target, _ = head.split(" ", 2)
        if method != "CONNECT":
            writer.write(b"HTTP/1.1 405 Method Not Allowed\r\n\r\n")
            return
        self.connected.append(target)
        host, port = split_address(self._hosts.get(target, target))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        if self._inspects is None:
            onward = await asyncio.open_connection(host, port, limit=LIMIT)
            await self._copy_both((reader, writer), onward)
            return
        inner = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        inner.load_cert_chain(self._inspects.certificate, self._inspects.key)
        inner.set_alpn_protocols(["http/1.1"])
        await writer.start_tls(inner)
        first = await reader.read(LIMIT)
        if b"HTTP/1.1" not in first:
            return
        outer = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        outer.check_hostname = False
        outer.verify_mode = ssl.CERT_NONE
        onward = await asyncio.open_connection(host, port, ssl=outer, server_hostname=host, limit=LIMIT)
        onward[1].write(first)
        await self._copy_both((reader, writer), onward)

    async def _copy_both(
        self,
        one: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        other: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        try:
            await asyncio.gather(self._copy(one[0], other[1]), self._copy(other[0], one[1]))
        finally:
            await _end(other[1])

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(LIMIT):
                self.seen += data
                writer.write(data)
                await writer.drain()
        _close(writer)


async def _end(writer: asyncio.StreamWriter) -> None:
    """Close a connection before its loop ends, whether or not the other end says goodbye."""
    _close(writer)
    try:
        with suppress(OSError):  # a timeout is one
            await asyncio.wait_for(writer.wait_closed(), 1)
    finally:
        writer.transport.abort()


def _close(writer: asyncio.StreamWriter) -> None:
    """Close a connection once: over TLS, a connection that is closed twice cannot be aborted."""
    if not writer.is_closing():
        writer.close()


@contextmanager
def proxying(proxy: Proxy) -> Iterator[str]:
    """Run a proxy in a thread, and yield its address."""
    bound = socket.create_server(("127.0.0.1", 0))
    with looping() as loop:
        serving = asyncio.start_server(proxy.serve, sock=bound, limit=LIMIT)
        server = asyncio.run_coroutine_threadsafe(serving, loop).result()
        try:
            yield f"127.0.0.1:{bound.getsockname()[1]}"
        finally:
            asyncio.run_coroutine_threadsafe(_drain(server), loop).result()


async def _drain(server: asyncio.Server) -> None:
    """Accept no more connections, and wait until the existing ones end: their callers are gone."""
    server.close()
    for _ in range(3):  # accepting one, making its transport and serving it follow each other
        await asyncio.sleep(0)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        if others:
            await asyncio.wait(others, timeout=5)


def found_corporation(folder: Path) -> Corporation:
    """Make another organization's CA, and its certificate for this machine."""
    folder.mkdir()
    now = datetime.now(UTC)
    root_key = ec.generate_private_key(ec.SECP256R1())
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Corporation")])
    host = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    builder = (
        x509.CertificateBuilder()
        .issuer_name(name)
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
    )
    root = (
        builder.subject_name(name)
        .public_key(root_key.public_key())
        .serial_number(1)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(root_key, hashes.SHA256())
    )
    leaf = (
        builder.subject_name(host)
        .public_key(key.public_key())
        .serial_number(2)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(root_key, hashes.SHA256())
    )
    made = Corporation(folder / "root.pem", folder / "root.key", folder / "leaf.pem", folder / "leaf.key")
    made.root.write_bytes(root.public_bytes(Encoding.PEM))
    made.certificate.write_bytes(leaf.public_bytes(Encoding.PEM))
    for path, private in ((made.root_key, root_key), (made.key, key)):
        path.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return made
