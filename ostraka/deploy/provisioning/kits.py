"""Writes a federation's CA and one startup kit per site and role, sealed and without a private key."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization

from ostraka.common.clock import Clock, SystemClock
from ostraka.common.config import SITE_FILE, SiteConfig, split_addresses, write_site
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import one_at_a_time, replace_durably, write_atomic
from ostraka.common.identity import CertificateAuthority, Identity, Role
from ostraka.common.identity.certificate_requests import fingerprint
from ostraka.common.identity.credentials import CA_CERT
from ostraka.common.identity.revocation import CRL
from ostraka.deploy.provisioning.compose import compose_fragment, readme
from ostraka.deploy.provisioning.federation_file import (
    FEDERATION_FILE,
    FederationFile,
    PartyEntry,
    listen_address,
    load_federation,
)
from ostraka.deploy.provisioning.policy_draft import policy_draft
from ostraka.deploy.provisioning.provision import CA_FOLDER, whole_folder
from ostraka.deploy.provisioning.sealing import seal_kit
from ostraka.deploy.provisioning.signing import revocation_list

LISTEN_RELAYED = "127.0.0.1:17701"
"""Address of a party's server that only its own agent calls."""
COMPOSE_FILE = "compose.yml"
README_FILE = "README.md"
DATA_FOLDER = "data"
CREDENTIALS = Path("credentials")
NUMBER = "kits.number"
"""File in the CA's folder with the number of its latest kits."""


@dataclass(frozen=True)
class Kits:
    """The written kits.

    Attributes:
        ca: the CA's folder, which no site may read.
        kits: each kit's folder by its name, SITE-ROLE.
        fingerprint: of the CA's certificate; sites receive it separately from their kits.
        number: of these kits; the CA's next kits get the next number.
    """

    ca: Path
    kits: dict[str, Path]
    fingerprint: str
    number: int


def write_kits(file: Path, out: Path, *, ca: Path | None = None, clock: Clock | None = None) -> Kits:
    """Write the kits of the federation in `file` below `out`, all or nothing.

    Args:
        file: a `federation.toml`; the CA keeps a copy, which says whose requests it signs.
        out: must not exist, or be empty.
        ca: folder of the federation's CA, for sites that join later; None: create one, `out`/ca.
        clock: the time when a new CA begins; the system's if None.

    Raises:
        OstrakaError: config.invalid.
    """
    federation = load_federation(file)
    clock = clock or SystemClock()
    with whole_folder(out) as root:
        authority = _load_authority(ca, federation) if ca else _new(root / CA_FOLDER, federation, clock)
        number = _next_number(ca or root / CA_FOLDER)
        for site in _sites(federation):
            folder = root / site.folder
            folder.mkdir(mode=0o755)
            _write_kit(site.model_copy(update={"folder": folder}), federation, authority)
            (folder / CRL).write_bytes(revocation_list(authority, clock))
            seal_kit(folder, authority, number, clock)
            _open_to_all(folder)
        if ca is None:
            shutil.copyfile(file, root / CA_FOLDER / FEDERATION_FILE)
    if ca is not None:
        replace_durably(ca / FEDERATION_FILE, file.read_bytes())
    kits = {str(site.folder): out / site.folder for site in _sites(federation)}
    return Kits(ca or out / CA_FOLDER, kits, fingerprint(authority.certificate), number)


def _next_number(ca: Path) -> int:
    """Reserve and return the number of a CA's next kits; a crash never leads to a second use."""
    path = ca / NUMBER
    with one_at_a_time(ca):
        try:
            number = int(path.read_text(encoding="ascii")) + 1 if path.exists() else 1
        except (OSError, ValueError) as error:
            raise OstrakaError(
                ErrorCode.CONFIG_INVALID,
                f"Cannot read in {path} the number of the last kits; write it there.",
            ) from error
        write_atomic(path, f"{number}\n")
    return number


def _new(folder: Path, federation: FederationFile, clock: Clock) -> CertificateAuthority:
    folder.mkdir(mode=0o700)
    return CertificateAuthority.create(federation.federation, clock).save(folder)


def _load_authority(folder: Path, federation: FederationFile) -> CertificateAuthority:
    authority = CertificateAuthority.load(folder)
    if authority.federation != federation.federation:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"{folder} is the CA of {authority.federation}, not of {federation.federation}; name the CA of"
            " the federation in the file.",
        )
    return authority


def _sites(federation: FederationFile) -> Iterator[SiteConfig]:
    """Yield the contents of each site.toml; folders are the kits' names."""
    guardian = federation.guardian
    for identity in federation.identities:
        yield SiteConfig(
            federation=federation.federation,
            site=identity.site,
            role=identity.role.value,
            guardian_site=guardian.site,
            credentials=CREDENTIALS,
            folder=Path(f"{identity.site}-{identity.role}"),
            **_addresses(identity, federation),
        )


def _addresses(identity: Identity, federation: FederationFile) -> dict[str, Any]:
    guardian = federation.guardian
    if identity.role is Role.GUARDIAN:
        return {"listen": listen_address(guardian.address, guardian.listen)}
    if identity.role is Role.RELAY:
        (relay,) = (relay for relay in federation.relay if relay.site == identity.site)
        return {"listen": listen_address(relay.address, relay.listen)}
    found: dict[str, Any] = {"guardian": guardian.address}
    if identity.role in (Role.PARTY, Role.QUERY):
        found["parties"] = {party.site: federation.address_of(party) for party in federation.party}
    if identity.role is Role.PARTY:
        party = _party_of(identity.site, federation)
        own = party.listen or LISTEN_RELAYED if party.relay else listen_address(party.address, party.listen)
        found["listen"] = own
    return found


def _write_kit(site: SiteConfig, federation: FederationFile, authority: CertificateAuthority) -> None:
    write_site(site)
    with (site.folder / SITE_FILE).open("a", encoding="utf-8") as file:
        file.writelines(_tables(site, federation))
    pem = authority.certificate.public_bytes(serialization.Encoding.PEM)
    (site.folder / CA_CERT).write_bytes(pem)
    party = _party_of(site.site, federation) if site.role == "party" else None
    gpu = party is not None and party.device == "cuda"
    relayed = party is not None and party.relay is not None
    compose = compose_fragment(site, version("ostraka"), gpu=gpu, relayed=relayed)
    (site.folder / COMPOSE_FILE).write_text(compose, encoding="utf-8")
    url_file = federation.guardian.url_file if site.role == "guardian" else None
    text = readme(site, version("ostraka"), url_file, gpu=gpu)
    if site.role in ("party", "query"):
        (site.folder / DATA_FOLDER).mkdir()
    (site.folder / README_FILE).write_text(text, encoding="utf-8")


def _party_of(site: str, federation: FederationFile) -> PartyEntry:
    """Return the entry of a party's kit."""
    return next(party for party in federation.party if party.site == site)


def _open_to_all(folder: Path) -> None:
    """Let a container's user read a kit, whatever the umask: it contains no secret."""
    for path in (folder, *folder.iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _tables(site: SiteConfig, federation: FederationFile) -> Iterator[str]:
    """Tables that belong to one role."""
    yield policy_draft(site.role)
    if site.role == "guardian":
        # The listening address may be every interface, which is not an address for callers.
        yield f"\n[ledger]\naddress = {json.dumps(split_addresses(federation.guardian.address)[0])}\n"
        if federation.guardian.url_file is not None:
            yield f"url_file = {json.dumps(federation.guardian.url_file)}\n"
    if site.role == "relay":
        address = split_addresses(federation.guardian.address)[0]
        yield f"\n[relay]\nreach = {{ {federation.guardian.site} = {json.dumps(address)} }}\n"
    if site.role == "party":
        yield from _party_tables(_party_of(site.site, federation), federation)


def _party_tables(party: PartyEntry, federation: FederationFile) -> Iterator[str]:
    relay = federation.relay_of(party)
    if relay is not None:
        yield f"\n[relay]\naddress = {json.dumps(relay.address)}\nsite = {json.dumps(relay.site)}\n"
        yield "guardian = true\n"
        if party.proxy:
            yield f"proxy = {json.dumps(f'http://{party.proxy}')}\n"
    if party.device != "auto":
        yield f'\n[party]\ndevice = "{party.device}"\n'
