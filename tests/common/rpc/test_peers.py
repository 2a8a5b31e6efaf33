"""Who calls, as a server reads it from TLS."""

from typing import Any

import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Identity, Role
from ostraka.common.rpc.peers import Peer, read_peer

URI = b"ostraka://attica/athens/party"


class Context:
    """A call of whose caller TLS says so; it counts how often that is asked for."""

    def __init__(self, *names: bytes) -> None:
        self.asked = 0
        self._names = names

    def auth_context(self) -> dict[str, Any]:
        self.asked += 1
        return {
            "transport_security_type": (b"ssl",),
            "x509_subject_alternative_name": self._names,
            "x509_pem_cert": (b"pem",),
        }


def test_a_caller_is_read_once_a_call() -> None:
    first, second = Context(URI, b"party.athens"), Context(b"ostraka://attica/delphi/query")
    for _ in range(3):
        assert read_peer(first) == Peer(Identity("attica", "athens", Role.PARTY), b"pem")  # type: ignore[arg-type]
        assert read_peer(second).identity.site == "delphi"  # type: ignore[arg-type]
    assert first.asked == second.asked == 1


@pytest.mark.parametrize("names", [(), (URI, URI), (b"party.athens",)])
def test_a_caller_without_one_identity_is_refused_each_time(names: tuple[bytes, ...]) -> None:
    context = Context(*names)
    for _ in range(2):
        with pytest.raises(OstrakaError) as refused:
            read_peer(context)  # type: ignore[arg-type]
        assert refused.value.code is ErrorCode.IDENTITY_INVALID
