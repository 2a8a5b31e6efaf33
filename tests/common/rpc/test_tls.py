"""Connections are keyed against those who record them now and have a quantum computer later."""

import os
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import grpc
import pytest

from ostraka.common import tls_minimum
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials
from ostraka.common.identity.credentials import TLS_CERT, TLS_KEY
from ostraka.common.rpc import call_error, open_channel
from ostraka.common.tls_minimum import NO_SUITE, SUITES, VARIABLE, check_tls_minimum, set_tls_minimum
from ostraka.protos.ostraka.v1 import guardian_pb2 as pb
from ostraka.protos.ostraka.v1.guardian_pb2_grpc import GuardianStub
from tests.common.federation import GUARDIAN, QUERIER, Federation
from tests.common.rpc.conftest import Serve
from tests.processor_time import loop_s

SUPPORTED_VERSIONS = 43
KEY_SHARE = 51
TLS_1_3 = b"\x03\x04"
X25519MLKEM768 = b"\x11\xec"
"""The group of draft-ietf-tls-ecdhe-mlkem: X25519 and ML-KEM-768 together."""


@contextmanager
def tapped(address: str) -> Iterator[tuple[str, bytearray]]:
    """Pass one connection on; yield the address to call instead, and what the server sends by it."""
    seen = bytearray()
    host, _, port = address.rpartition(":")
    with socket.create_server((host, 0)) as listener, socket.create_connection((host, int(port))) as server:

        def pass_on(source: socket.socket, sink: socket.socket, copy: bytearray) -> None:
            with suppress(OSError):  # either end closes when the block ends
                while data := source.recv(65536):
                    copy += data
                    sink.sendall(data)

        def accept() -> None:
            client, _ = listener.accept()
            with client:
                threading.Thread(target=pass_on, args=(server, client, seen), daemon=True).start()
                pass_on(client, server, bytearray())

        threading.Thread(target=accept, daemon=True).start()
        yield f"{host}:{listener.getsockname()[1]}", seen


def extensions(server_hello: bytes) -> dict[int, bytes]:
    """Return the extensions of a ServerHello by type (RFC 8446, 4.1.3)."""
    at = 5 + 4 + 2 + 32  # heads of record and message, version, random
    at += 1 + server_hello[at] + 2 + 1  # session id, cipher suite, compression
    end = at + 2 + int.from_bytes(server_hello[at : at + 2])
    at += 2
    found = {}
    while at < end:
        length = int.from_bytes(server_hello[at + 2 : at + 4])
        found[int.from_bytes(server_hello[at : at + 2])] = server_hello[at + 4 : at + 4 + length]
        at += 4 + length
    return found


def close_session(credentials: Credentials, address: str) -> None:
    with open_channel(credentials, address, GUARDIAN) as channel:
        try:
            GuardianStub(channel).CloseSession(pb.CloseSessionRequest(), timeout=600 * loop_s() / 0.025)
        except grpc.RpcError as error:
            raise call_error(error) from error


def connect(address: str, credentials: Credentials, version: ssl.TLSVersion) -> str | None:
    """Return the version of TLS that a server agrees on with whoever knows none above `version`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=credentials.ca_pem.decode("ascii"))
    context.load_cert_chain(credentials.folder / TLS_CERT, credentials.folder / TLS_KEY)
    context.set_alpn_protocols(["h2"])
    context.maximum_version = version
    host, _, port = address.rpartition(":")
    with (
        socket.create_connection((host, int(port))) as connection,
        context.wrap_socket(connection, server_hostname=GUARDIAN.server_name) as tls,
    ):
        return tls.version()


def test_both_ends_agree_on_tls_1_3_and_a_hybrid_group(federation: Federation, serve: Serve) -> None:
    with tapped(serve()) as (address, seen):
        close_session(federation.issue(QUERIER), address)
        found = extensions(bytes(seen))
    assert found[SUPPORTED_VERSIONS] == TLS_1_3
    assert found[KEY_SHARE][:2] == X25519MLKEM768


def test_a_server_takes_no_tls_1_2(federation: Federation, serve: Serve) -> None:
    address = serve()
    credentials = federation.issue(QUERIER)
    assert connect(address, credentials, ssl.TLSVersion.TLSv1_3) == "TLSv1.3"
    with pytest.raises((ssl.SSLError, ConnectionResetError)):
        connect(address, credentials, ssl.TLSVersion.TLSv1_2)


def test_a_server_without_tls_1_3_is_called_so(federation: Federation) -> None:
    """It would do for OpenSSL, which looks for the reason: gRPC itself ended the call."""
    guardian = federation.issue(GUARDIAN)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(guardian.folder / TLS_CERT, guardian.folder / TLS_KEY)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["h2"])
    agreed = []

    def answer(listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            try:
                with context.wrap_socket(connection, server_side=True) as tls:
                    agreed.append(tls.version())
            except OSError:
                connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=answer, args=(listener,), daemon=True).start()
        with pytest.raises(OstrakaError) as caught:
            close_session(federation.issue(QUERIER), f"127.0.0.1:{listener.getsockname()[1]}")
        listener.shutdown(socket.SHUT_RDWR)
    assert caught.value.code is ErrorCode.SERVER_TLS_OUTDATED
    assert f"{VARIABLE}=1.2" in caught.value.message
    assert agreed == ["TLSv1.2"]


def test_a_least_version_that_is_none_is_refused(
    federation: Federation, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "1.1")
    for refused in (serve, lambda: open_channel(federation.issue(QUERIER), "127.0.0.1:1", GUARDIAN)):
        with pytest.raises(OstrakaError, match=r"write 1\.3 or 1\.2") as caught:
            refused()
        assert caught.value.code is ErrorCode.CONFIG_INVALID


def test_nothing_is_served_where_grpc_was_imported_first(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls_minimum, "_GRPC_CAME_FIRST", True)
    with pytest.raises(OstrakaError, match="import ostraka first") as caught:
        serve()
    assert caught.value.code is ErrorCode.CONFIG_INVALID
    monkeypatch.setenv(VARIABLE, "1.2")
    check_tls_minimum()


@pytest.mark.parametrize(
    ("least", "suites", "left"),
    [
        (None, None, NO_SUITE),
        ("1.3", "an operator's", NO_SUITE),
        ("1.2", NO_SUITE, None),
        ("1.2", "an operator's", "an operator's"),
        ("1.2", None, None),
    ],
)
def test_the_suites_are_those_that_the_least_version_needs(
    least: str | None, suites: str | None, left: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in ((VARIABLE, least), (SUITES, suites)):
        monkeypatch.setenv(name, value or "")
        if value is None:
            monkeypatch.delenv(name)
    set_tls_minimum()
    assert os.environ.get(SUITES) == left


PROGRAM = "import {first}, ostraka.common.tls_minimum as least; print(least._GRPC_CAME_FIRST)"


@pytest.mark.parametrize(
    ("first", "suites", "came_first"),
    [("sys", "", "False"), ("grpc", "", "True"), ("grpc", NO_SUITE, "False")],
)
def test_grpc_that_was_imported_first_is_noticed_unless_a_parent_said_what_it_takes(
    first: str, suites: str, came_first: str
) -> None:
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(first=first)],
        env=os.environ | {SUITES: suites},
        capture_output=True,
        check=True,
    )
    assert found.stdout.decode().strip() == came_first
