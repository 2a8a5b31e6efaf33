"""A federation in whose kits tests make keys."""

from dataclasses import dataclass
from pathlib import Path

from ostraka.common.clock import Clock
from ostraka.common.identity.certificate_requests import REQUEST
from ostraka.deploy.provisioning.kits import Kits, write_kits
from ostraka.deploy.provisioning.signing import sign_request
from ostraka.deploy.site.keys import init, install, renew

SITES = ("hub-guardian", "hub-admin", "a-party", "b-party", "q-query")
TEXT = """
federation = "demo"

[guardian]
site = "hub"
address = "127.0.0.1:{guardian}"
listen = "127.0.0.1:{guardian}"

[[admin]]
site = "hub"

[[party]]
site = "a"
address = "127.0.0.1:{a}"
listen = "127.0.0.1:{a}"

[[party]]
site = "b"
address = "b.example:7001"

[[query]]
site = "q"
"""


@dataclass(frozen=True)
class Sites:
    """Kits, and what their makers and their sites do with them."""

    made: Kits
    clock: Clock

    def __getitem__(self, name: str) -> Path:
        return self.made.kits[name]

    def request(self, name: str) -> bytes:
        init(self[name], self.made.fingerprint)
        return (self[name] / REQUEST).read_bytes()

    def request_again(self, name: str) -> bytes:
        renew(self[name])
        return (self[name] / REQUEST).read_bytes()

    def sign(self, name: str, *, again: bool = False) -> bytes:
        request = (self[name] / REQUEST).read_bytes()
        return sign_request(request, self.made.ca, self.clock, again=again).certificates

    def join(self, *names: str) -> None:
        for name in names:
            self.request(name)
            install(self[name], self.sign(name), self.clock)


def make_sites(
    folder: Path, clock: Clock, guardian: int = 7000, a: int = 7001, federation: str = "demo"
) -> Sites:
    """Make kits below `folder` of a federation whose guardian and party `a` listen at these ports."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "federation.toml"
    file.write_text(TEXT.format(guardian=guardian, a=a).replace('"demo"', f'"{federation}"'))
    return Sites(write_kits(file, folder / "kits", clock=clock), clock)
