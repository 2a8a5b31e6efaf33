"""Writes a whole federation on one machine, including keys, for trials and simulations."""

import os
import random
import shutil
import socket
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ostraka.common.clock import Clock, SystemClock
from ostraka.common.config import SITE_FILE, SiteConfig, split_address, write_site
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import CertificateAuthority, Identity, Role, check_name
from ostraka.deploy.provisioning.policy_draft import policy_draft


@contextmanager
def whole_folder(out: Path) -> Iterator[Path]:
    """Yield a folder to fill in the block; it appears at `out` only if the block succeeds.

    Raises:
        OstrakaError: config.invalid if `out` is not empty or cannot be written.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise _unwritable(f"{out} is there already and is not overwritten; name another folder")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    except OSError as error:
        raise _unwritable(
            f"Cannot write below {out.parent}: {error.strerror}; name another folder"
        ) from error
    try:
        partial.chmod(0o755)
        yield partial
        os.replace(partial, out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _unwritable(problem: str) -> OstrakaError:
    return OstrakaError(ErrorCode.CONFIG_INVALID, f"{problem}.")


CA_FOLDER = "ca"
ADMIN_FOLDER = "admin"


@dataclass(frozen=True)
class FederationFolders:
    """The folders of a provisioned federation.

    Attributes:
        ca: the CA's key and certificate; keep it off the sites.
        guardian: the guardian's site folder.
        admin: the folder of the guardian's administrators.
        parties: the answering parties' folders by site name.
        query: the querying party's folder.
    """

    ca: Path
    guardian: Path
    admin: Path
    parties: dict[str, Path]
    query: Path


def provision(
    federation: str,
    parties: Sequence[str],
    query: str,
    out: Path,
    *,
    guardian: str = "guardian",
    host: str = "127.0.0.1",
    base_port: int = 17700,
    clock: Clock | None = None,
) -> FederationFolders:
    """Write CA, keys, certificates and `site.toml` of every site below `out`, all or nothing.

    Args:
        federation: its name, a DNS label like every site's.
        parties: site names of the answering parties.
        query: site name of the querying party; if it also answers, it gets a second folder, <site>-query.
        out: must not exist, or be empty.
        guardian: site name of the guardian and of its administrators.
        host: where every server listens and is reached; edit `site.toml` by hand where the two differ.
        base_port: the guardian's port; the parties follow. 0 lets the system choose all of them.
        clock: the time when the certificates begin; the system's if None.

    Raises:
        OstrakaError: config.invalid.
    """
    sites = _sites(federation, parties, query, guardian, host, base_port)
    with whole_folder(out) as root:
        _write(root, federation, sites, clock or SystemClock())
    folders = {site.folder.name: out / site.folder for site in sites}
    return FederationFolders(
        ca=out / CA_FOLDER,
        guardian=folders[guardian],
        admin=folders[ADMIN_FOLDER],
        parties={party: folders[party] for party in parties},
        query=out / sites[-1].folder,
    )


def _sites(
    federation: str, parties: Sequence[str], query: str, guardian: str, host: str, base_port: int
) -> list[SiteConfig]:
    for name in (federation, guardian, query, *parties):
        check_name(name)
    if not parties:
        raise _invalid("A federation needs at least one answering party; name them with --parties a,b,c")
    if base_port and base_port + len(parties) > 65535:
        raise _invalid(f"{len(parties)} parties do not fit above port {base_port}; choose a lower base port")
    ports = [base_port + i if base_port else 0 for i in range(len(parties) + 1)]
    addresses = [f"{host}:{port}" for port in ports]
    split_address(addresses[0])
    sites = list(_configs(federation, parties, query, guardian, addresses))
    names = [CA_FOLDER, *(site.folder.name for site in sites)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise _invalid(f"The name {twice[0]} stands for two folders; give every site a name of its own")
    return sites


def _configs(
    federation: str, parties: Sequence[str], query: str, guardian: str, addresses: Sequence[str]
) -> Iterator[SiteConfig]:
    """Yield the sites: guardian, admin, parties, and the querying party last; folders are relative."""
    home = addresses[0]
    base = SiteConfig(
        federation=federation,
        site=guardian,
        guardian_site=guardian,
        role="guardian",
        listen=home,
        folder=Path(guardian),
    )
    yield base
    yield base.model_copy(
        update={"role": "admin", "listen": "", "guardian": home, "folder": Path(ADMIN_FOLDER)}
    )
    known = dict(zip(parties, addresses[1:], strict=True))
    for party, listen in zip(parties, addresses[1:], strict=True):
        update = {"site": party, "role": "party", "listen": listen, "guardian": home, "folder": Path(party)}
        yield base.model_copy(update={**update, "parties": known})
    folder = Path(f"{query}-query" if query in parties else query)
    update = {"site": query, "role": "query", "listen": "", "guardian": home, "folder": folder}
    yield base.model_copy(update={**update, "parties": known})


def _write(root: Path, federation: str, sites: Sequence[SiteConfig], clock: Clock) -> None:
    (root / CA_FOLDER).mkdir(mode=0o700)
    ca = CertificateAuthority.create(federation, clock).save(root / CA_FOLDER)
    for site in sites:
        folder = root / site.folder
        folder.mkdir(mode=0o700)
        ca.issue(Identity(federation, site.site, Role(site.role)), folder, clock)
        write_site(site.model_copy(update={"folder": folder}))
        with (folder / SITE_FILE).open("a", encoding="utf-8") as file:
            file.write(policy_draft(site.role))


def _invalid(problem: str) -> OstrakaError:
    return OstrakaError(ErrorCode.CONFIG_INVALID, f"{problem}.")


HOST = "127.0.0.1"
PORTS = range(20_000, 30_000)
"""Below the ports that systems assign by themselves."""
TRIES = 1000  # enough that only a machine without room fails, and few enough to end within a second


def provision_local(
    federation: str, parties: Sequence[str], query: str, out: Path | str
) -> FederationFolders:
    """Write a whole federation with all sites' keys, for trials on this machine, at ports that are free now.

    Args:
        federation: its name, a DNS label like every site's.
        parties: site names of the answering parties.
        query: site name of the querying party.
        out: folder to write; must not exist, or be empty.

    Returns:
        The folders of every site: `guardian`, `admin`, `parties` by name, `query`, and `ca`.

    Raises:
        OstrakaError: `config.invalid`.
    """
    return provision(
        federation, parties, query, Path(out), host=HOST, base_port=free_base_port(1 + len(parties))
    )


def free_base_port(count: int) -> int:
    """Return the first of `count` free ports in a row; raise `server.port_in_use`."""
    for _ in range(TRIES):
        base = random.randrange(PORTS.start, PORTS.stop - count)  # noqa: S311
        if _are_free(range(base, base + count)):
            return base
    raise OstrakaError(
        ErrorCode.SERVER_PORT_IN_USE, f"No {count} ports in a row are free on {HOST}; end other servers."
    )


def _are_free(ports: range) -> bool:
    try:
        with ExitStack() as stack:
            for port in ports:
                stack.enter_context(socket.create_server((HOST, port)))
    except OSError:
        return False
    return True
