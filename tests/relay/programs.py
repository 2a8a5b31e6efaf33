"""Third-party programs in front of a relay, or in its place: Squid, HAProxy and OpenSSH.

Each runs as an ordinary user, with its own configuration and port.
"""

import hashlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.addresses import free_ports
from tests.relay.relaying import Corporation
from tests.skips import skip_or_fail
from tests.waiting import until

USER = "nobody" if os.getuid() == 0 else None
"""The user they run as when tests run as root: Squid refuses to run as root, and OpenSSH's server then needs
system folders."""
AS_USER: dict[str, Any] = (
    {"user": USER, "group": pwd.getpwnam(USER).pw_gid, "extra_groups": []} if USER else {}
)
CERTIFICATES = Path("/usr/lib/squid/security_file_certgen")
"""Makes certificates for a Squid that inspects; Debian's squid-openssl includes it, squid does not."""
PASSWORDS = Path("/usr/lib/squid/basic_ncsa_auth")


def find_program(name: str) -> str:
    """Return the path of a program; skip or fail the test if it is not installed."""
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if found is None:
        skip_or_fail(f"there is no {name} on this machine; install Debian's package of it")
    return found


@contextmanager
def workplace() -> Iterator[Path]:
    """Yield an empty folder of the ordinary user, who cannot access pytest's folders."""
    with tempfile.TemporaryDirectory(prefix="ostraka-programs-") as name:
        folder = Path(name)
        if USER:
            shutil.chown(folder, USER)
        yield folder


def put(folder: Path, name: str, content: str | bytes) -> Path:
    """Write a file that only the ordinary user can read."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    path.chmod(0o600)
    if USER:
        shutil.chown(path, USER)
    return path


@contextmanager
def run(arguments: Sequence[str | Path], folder: Path, port: int) -> Iterator[None]:
    """Run a program within the block, which begins once it listens at a port of this machine."""
    log = Path(folder, f"{Path(arguments[0]).name}.log")
    with log.open("ab") as output:
        process = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            **AS_USER,
        )
    try:
        until(lambda: process.poll() is not None or listens(port))
        assert process.poll() is None, log.read_text(errors="replace")
        yield
    finally:
        process.kill()
        process.wait()


def listens(port: int) -> bool:
    """Whether a program accepts connections at a port of this machine."""
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


@contextmanager
def squid(
    relay: str,
    *,
    user: str = "",
    inspects: Corporation | None = None,
    verifies: bool = False,
    websockets: bool = True,
) -> Iterator[str]:
    """Run a Squid that allows access to one relay only, and yield its address.

    Args:
        relay: the relay's address.
        user: "name:password" of its only user; "": everybody.
        inspects: the CA for ending TLS, if it does.
        verifies: whether an inspecting Squid requires a certificate of a public CA from the relay.
        websockets: whether an inspecting Squid allows WebSockets.
    """
    program = find_program("squid")
    (port,) = free_ports(1)
    with workplace() as folder:
        lines = [
            f"http_port 127.0.0.1:{port}",
            "visible_hostname squid",
            "pid_filename none",
            "pinger_enable off",
            "netdb_filename none",
            "cache deny all",
            "cache_log stdio:/dev/stderr",
            "access_log none",
            f"coredump_dir {folder}",
            f"acl relay port {relay.rpartition(':')[2]}",
            "http_access deny !relay",
        ]
        if inspects is not None:
            lines[0] += _inspection(folder, inspects)
            lines += [
                f"sslcrtd_program {CERTIFICATES} -s {folder / 'certificates'} -M 4MB",
                "sslcrtd_children 1",
                "ssl_bump bump all",
            ]
            lines += [] if verifies else ["tls_outgoing_options flags=DONT_VERIFY_PEER"]
            lines += ["http_upgrade_request_protocols websocket allow all"] if websockets else []
        lines += _password(folder, user) if user else ["http_access allow all"]
        with run([program, "-N", "-f", put(folder, "squid.conf", "\n".join([*lines, ""]))], folder, port):
            yield f"127.0.0.1:{port}"


def _inspection(folder: Path, own: Corporation) -> str:
    if not CERTIFICATES.exists():
        skip_or_fail("this machine's squid cannot inspect TLS; install Debian's package squid-openssl")
    root = put(folder, "root.pem", own.root.read_bytes() + own.root_key.read_bytes())
    subprocess.run([CERTIFICATES, "-c", "-s", folder / "certificates", "-M", "4MB"], check=True, **AS_USER)
    return f" ssl-bump tls-cert={root} generate-host-certificates=on"


def _password(folder: Path, user: str) -> list[str]:
    name, _, password = user.partition(":")
    digest = hashlib.md5(password.encode(), usedforsecurity=False).hexdigest()  # the format that it stores
    passwords = put(folder, "passwords", f"{name}:{digest}\n")
    return [
        f"auth_param basic program {PASSWORDS} {passwords}",
        "auth_param basic children 1",
        "acl known proxy_auth REQUIRED",
        "http_access allow known",
        "http_access deny all",
    ]


@contextmanager
def haproxy(sections: str, port: int, **files: bytes) -> Iterator[None]:
    """Run HAProxy with these sections, which make it listen at a port, and with files by name."""
    program = find_program("haproxy")
    with workplace() as folder:
        for name, content in files.items():
            put(folder, name, content)
        with run([program, "-db", "-f", put(folder, "haproxy.cfg", sections)], folder, port):
            yield


@contextmanager
def balance(relay: str, shown: Corporation) -> Iterator[str]:
    """Run a HAProxy that ends the TLS of a relay's sites and forwards their HTTP, and yield its address."""
    (port,) = free_ports(1)
    sections = f"""
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  timeout tunnel 1h
frontend sites
  bind 127.0.0.1:{port} ssl crt shown
  default_backend relay
backend relay
  server relay {relay} ssl verify none
"""
    with haproxy(sections, port, shown=shown.certificate.read_bytes() + shown.key.read_bytes()):
        yield f"127.0.0.1:{port}"


class Sshd:
    """An OpenSSH server that accepts one key, which may only have one port forwarded."""

    def __init__(self, folder: Path, forwarded: int) -> None:
        """Take the folder of a workplace, and the port."""
        self._folder = folder
        self._program = find_program("sshd")
        self._forwarded = forwarded
        (self.port,) = free_ports(1)
        for name in ("host", "site"):
            command = [find_program("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
            subprocess.run(command, check=True, **AS_USER)
        limits = f'restrict,port-forwarding,permitlisten="127.0.0.1:{forwarded}"'
        put(folder, "authorized_keys", f"{limits} {(folder / 'site.pub').read_text()}")

    @contextmanager
    def serve(self) -> Iterator[None]:
        """Serve within the block."""
        folder = self._folder
        lines = (
            f"ListenAddress 127.0.0.1:{self.port}",
            f"HostKey {folder / 'host'}",
            f"AuthorizedKeysFile {folder / 'authorized_keys'}",
            "AuthenticationMethods publickey",
            "PidFile none",
            "StrictModes no",
            "UsePAM yes",
        )
        config = put(folder, "sshd_config", "\n".join([*lines, ""]))
        with run([self._program, "-D", "-e", "-f", config], folder, self.port):
            yield

    @contextmanager
    def forward(self, address: str, port: int) -> Iterator[None]:
        """Forward the port to an address within the block, by logging in at a port."""
        folder = self._folder
        known = put(folder, "known_hosts", f"[127.0.0.1]:{port} {(folder / 'host.pub').read_text()}")
        options = ("ExitOnForwardFailure=yes", "IdentitiesOnly=yes", f"UserKnownHostsFile={known}")
        words = ["-F", "none", "-N", "-i", str(folder / "site"), "-p", str(port), "127.0.0.1"]
        words += [word for option in options for word in ("-o", option)]
        words += ["-R", f"127.0.0.1:{self._forwarded}:{address}"]
        with run([find_program("ssh"), *words], folder, self._forwarded):
            yield
