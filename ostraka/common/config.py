"""The configuration of a site: `site.toml` in its folder, made by `ostraka provision`, edited by people."""

import ipaddress
import json
import re
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.toml import TomlError, read_toml
from ostraka.common.identity.identity import DnsLabel
from ostraka.common.validation import first_problem

SITE_FILE = "site.toml"
# Tables that their owners read with `load_section`.
SECTIONS = frozenset({"ledger", "party", "policy", "query", "relay", "telemetry", "training"})

RoleName = Literal["guardian", "party", "query", "admin", "relay"]
NoiseName = Literal["ostraka", "opendp"]
"""Sampler of a guardian's noise."""
Model = TypeVar("Model", bound=BaseModel)
_NAME = re.compile(r"\w([\w.-]{0,251}\w)?", re.ASCII)
_BRACKETED = re.compile(r"\[([0-9A-Fa-f:.]{2,45})\]")
_PORT = re.compile(r"[0-9]{1,5}")


def split_address(address: str) -> tuple[str, int]:
    """Return host and port of `host:port`; an IPv6 host is written in brackets.

    A host is a name or an IP address, so that it can be used unchanged in commands, YAML and URLs.

    Raises:
        OstrakaError: config.invalid for anything else.
    """
    host, _, port = address.rpartition(":")
    if not _is_host(host) or not _PORT.fullmatch(port) or int(port) > 65535:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"{address[:100]!r} is not an address; write host:port, like 127.0.0.1:17700.",
        )
    return host.removeprefix("[").removesuffix("]"), int(port)


def _is_host(host: str) -> bool:
    bracketed = _BRACKETED.fullmatch(host)
    if bracketed is None:
        return _NAME.fullmatch(host) is not None
    try:
        return bool(ipaddress.IPv6Address(bracketed[1]))
    except ValueError:
        return False


def is_loopback(address: str) -> bool:
    """Return whether `address` (host:port) can only be reached from this machine."""
    host = split_address(address)[0]
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _address(value: str) -> str:
    try:
        split_address(value)
    except OstrakaError as error:
        raise ValueError(error.message) from error
    return value


def split_addresses(addresses: str) -> tuple[str, ...]:
    """Return the addresses in `host:port,host:port`, at least one.

    Raises:
        OstrakaError: config.invalid if one is not an address.
    """
    found = tuple(address.strip() for address in addresses.split(","))
    for address in found:
        split_address(address)
    return found


def _addresses(value: str) -> str:
    for address in value.split(","):
        _address(address.strip())
    return value


Address = Annotated[str, AfterValidator(_address)]
Addresses = Annotated[str, AfterValidator(_addresses)]


class SiteConfig(BaseModel):
    """Configuration of one site in one role: its own identity and the servers that it calls.

    Attributes:
        federation: name of the federation.
        site: name of the site.
        role: role of the site that owns this folder.
        listen: address to serve at, host:port. With port 0 the system chooses a port. Empty for roles that
            serve nothing.
        guardian: address of the guardian, host:port; several guardians that share a ledger are separated by
            commas. Empty for the guardian itself and for a relay.
        guardian_site: the guardian's site name.
        parties: addresses of the answering parties by site name, for a querying party and for the leader of a
            joint training.
        credentials: folder of the site's keys and certificates, relative to the site folder.
        noise: sampler of a guardian's noise: Ostraka's own, or OpenDP's for a guardian that must use a vetted
            library (it needs the extra `opendp`). Both are exact.
        folder: the site folder, where this was read.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    federation: DnsLabel
    site: DnsLabel
    role: RoleName
    listen: Address = ""
    guardian: Addresses = ""
    guardian_site: DnsLabel = "guardian"
    parties: dict[DnsLabel, Address] = Field(default_factory=dict)
    credentials: Path = Path()
    noise: NoiseName = "ostraka"
    folder: Path = Field(exclude=True)

    @model_validator(mode="after")
    def _complete(self) -> "SiteConfig":
        if self.role in ("guardian", "party", "relay") and not self.listen:
            raise ValueError(f"listen is missing: say where this {self.role} serves")
        if self.role not in ("guardian", "relay") and not self.guardian:
            raise ValueError("guardian is missing: give the guardian's address")
        if self.role != "guardian" and "noise" in self.model_fields_set:
            raise ValueError(f"noise is drawn by the guardian: take the line out of this {self.role}'s file")
        return self


def load_site(folder: Path) -> SiteConfig:
    """Read `site.toml` of a site folder, without the tables that belong to one role.

    Raises:
        OstrakaError: config.invalid naming the first key that is missing, unknown or wrong.
    """
    table = {key: value for key, value in _read(folder).items() if key not in SECTIONS}
    return _validate(SiteConfig, table | {"folder": folder}, folder)


ROLES = {
    "guardian": "the guardian",
    "party": "an answering party",
    "query": "a querying site",
    "admin": "an administrator",
    "relay": "a relay",
}


def require_role(folder: Path, role: RoleName) -> None:
    """Raise `config.invalid` if a folder has another role; the message names the role that is needed."""
    found = _read(folder).get("role", role)
    if found != role:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, f"{folder} acts as {found}: name the folder of {ROLES[role]}."
        )


def load_section(folder: Path, name: str, model: type[Model]) -> Model:
    """Read the table `[name]` of a site's `site.toml` as `model`; a missing table counts as empty.

    Raises:
        OstrakaError: config.invalid naming the first key that is missing, unknown or wrong.
    """
    return _validate(model, _read(folder).get(name, {}), folder, name)


def write_site(site: SiteConfig) -> None:
    """Write `site.toml` into `site.folder`, which must exist; replace an existing file."""
    values = site.model_dump(mode="json", exclude_defaults=True, exclude={"parties"})
    lines = [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    if site.parties:
        lines += ["", "[parties]", *(f"{key} = {json.dumps(value)}" for key, value in site.parties.items())]
    (site.folder / SITE_FILE).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _read(folder: Path) -> dict[str, Any]:
    path = folder / SITE_FILE
    try:
        return read_toml(path)
    except OSError as error:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"Cannot read {path}: {error.strerror}; name a site folder made by `ostraka provision`.",
        ) from error
    except TomlError as error:
        raise OstrakaError(ErrorCode.CONFIG_INVALID, f"{path} {error}; correct it.") from error


def _validate(model: type[Model], table: Any, folder: Path, section: str | None = None) -> Model:
    try:
        return model.model_validate(table)
    except ValidationError as error:
        problem = first_problem(error, section or "", data=table)
        raise OstrakaError(ErrorCode.CONFIG_INVALID, f"{folder / SITE_FILE}: {problem}.") from error
