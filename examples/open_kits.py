"""Open all kits of a federation on one machine: `python examples/open_kits.py federation.toml kits`.

It plays the coordinator, who makes kits from the file and signs, and every site, which makes its keys and
installs its certificates. Between real sites each does its own part (docs/provisioning.md): one account with
all keys protects nobody.
"""

import sys
from pathlib import Path

from ostraka.common.clock import SystemClock
from ostraka.common.identity.certificate_requests import REQUEST
from ostraka.deploy.provisioning.kits import write_kits
from ostraka.deploy.provisioning.signing import sign_request
from ostraka.deploy.site.keys import init, install


def main(federation: Path, folder: Path) -> None:
    """Make kits below this folder, and have every site certified."""
    clock = SystemClock()
    made = write_kits(federation, folder, clock=clock)
    for name, kit in made.kits.items():
        init(kit, made.fingerprint)
        signed = sign_request((kit / REQUEST).read_bytes(), made.ca, clock)
        install(kit, signed.certificates, clock)
        print(f"{name} has its keys in {kit}.")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
