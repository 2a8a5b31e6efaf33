"""`federation.toml`: the sites of a federation, and the addresses of their servers."""

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from ostraka.common.config import Address, Addresses, split_address, split_addresses
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.toml import TomlError, read_toml
from ostraka.common.identity import DnsLabel, Identity, Role
from ostraka.common.validation import first_problem

FEDERATION_FILE = "federation.toml"
EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104
MAX_SITES = Field(max_length=1000)
"""Largest number of sites of one role."""
_FILE = "[A-Za-z0-9_][A-Za-z0-9_.-]*"
RelativeFile = Annotated[str, StringConstraints(pattern=f"^{_FILE}(/{_FILE})*$", max_length=200)]
"""A file below a folder, whose name has no special characters of a shell."""


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    site: DnsLabel
    """Its site name."""


class GuardianEntry(_Entry):
    """Table `[guardian]`.

    Attributes:
        site: its site name.
        address: address at which other sites reach it, host:port; several replicas are separated by commas.
        listen: address to serve at. None: every interface, at the port of the first address.
        ledger: where the ledger is kept.
        url_file: file with the URL of a PostgreSQL database, relative to the guardian's kit.
    """

    address: Addresses
    listen: Address = ""
    ledger: Literal["sqlite", "postgresql"] = "sqlite"
    url_file: RelativeFile | None = None

    @model_validator(mode="after")
    def _one_ledger(self) -> "GuardianEntry":
        if (self.ledger == "postgresql") != (self.url_file is not None):
            raise ValueError('give url_file where ledger is "postgresql", and only there')
        return self


class RelayEntry(_Entry):
    """One of `[[relay]]`: a server that passes calls on to parties that only call out.

    Attributes:
        site: its site name.
        address: address at which all sites reach it, host:port.
        listen: address to serve at. None: every interface, at the port of the address.
    """

    address: Address
    listen: Address = ""


class PartyEntry(_Entry):
    """One of `[[party]]`.

    Attributes:
        site: its site name.
        address: address at which querying parties reach it, host:port. None if a relay is named.
        listen: address to serve at. None: every interface, at the port of the address; with a relay, only
            127.0.0.1.
        relay: site name of the relay through which it is reached and calls the guardian. None: it has an
            address.
        proxy: HTTP proxy between it and its relay, host:port. None: the proxy that HTTPS_PROXY names there. A
            password stays at the party, in HTTPS_PROXY, because kits hold no secret.
        device: device of its teachers; "auto" is a GPU if there is one.
    """

    address: Address = ""
    listen: Address = ""
    relay: DnsLabel | None = None
    proxy: Address = ""
    device: Literal["auto", "cpu", "cuda"] = "auto"

    @model_validator(mode="after")
    def _one_way(self) -> "PartyEntry":
        if bool(self.address) == (self.relay is not None):
            raise ValueError("give address, or relay for a party that only calls out, and not both")
        if self.proxy and self.relay is None:
            raise ValueError("give proxy to a party with a relay alone: it is between these two")
        return self


class AdminEntry(_Entry):
    """One of `[[admin]]`: administrators of the guardian."""


class QueryEntry(_Entry):
    """One of `[[query]]`: a querying party."""


class Endpoint(NamedTuple):
    """A server: its name, its address and where it listens, as host and port."""

    name: str
    host: str
    port: int
    listen_port: int


class FederationFile(BaseModel):
    """The contents of a federation.toml, from which kits are made.

    Attributes:
        federation: its name.
        days: number of days for which certificates of sites are valid.
        guardian: the guardian, which adds ballots and charges budgets.
        admin: administrators of the guardian.
        relay: relays.
        party: answering parties.
        query: querying parties.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    federation: DnsLabel
    days: Annotated[int, Field(ge=1, le=3650)] = 365
    guardian: GuardianEntry
    admin: Annotated[tuple[AdminEntry, ...], MAX_SITES] = ()
    relay: Annotated[tuple[RelayEntry, ...], MAX_SITES] = ()
    party: Annotated[tuple[PartyEntry, ...], MAX_SITES] = ()
    query: Annotated[tuple[QueryEntry, ...], MAX_SITES] = ()

    @model_validator(mode="after")
    def _fit_together(self) -> "FederationFile":
        for role in (Role.PARTY, Role.ADMIN, Role.QUERY):
            if not getattr(self, role):
                raise ValueError(f"there is no [[{role}]]: a federation needs one at least")
            _check_names(role, [entry.site for entry in getattr(self, role)])
        for entry in (*self.party, *self.query):
            if entry.site == self.guardian.site:
                role = Role.PARTY if entry in self.party else Role.QUERY
                raise ValueError(
                    f"[guardian] and [[{role}]] are both {entry.site}: the guardian must be independent of"
                    " whoever answers or asks, so name another site"
                )
        _check_names(Role.RELAY, [entry.site for entry in self.relay])
        for party in self.party:
            if party.relay is not None and party.relay not in {entry.site for entry in self.relay}:
                raise ValueError(
                    f"[[party]] {party.site} names the relay {party.relay}, and there is no [[relay]] of that"
                    " name: add it"
                )
        for one, other in combinations(self._endpoints(), 2):
            _check_apart(one, other)
        return self

    @property
    def identities(self) -> tuple[Identity, ...]:
        """The identities that may have certificates."""
        entries: tuple[tuple[Role, tuple[_Entry, ...]], ...] = (
            (Role.GUARDIAN, (self.guardian,)),
            (Role.RELAY, self.relay),
            (Role.ADMIN, self.admin),
            (Role.PARTY, self.party),
            (Role.QUERY, self.query),
        )
        return tuple(
            Identity(self.federation, entry.site, role) for role, group in entries for entry in group
        )

    def _endpoints(self) -> Iterator[Endpoint]:
        for address in split_addresses(self.guardian.address):
            yield _endpoint(f"guardian {self.guardian.site}", address, self.guardian.listen)
        for relay in self.relay:
            yield _endpoint(f"relay {relay.site}", relay.address, relay.listen)
        for party in self.party:
            if party.relay is None:
                yield _endpoint(f"party {party.site}", party.address, party.listen)

    def relay_of(self, party: PartyEntry) -> RelayEntry | None:
        """Return the relay through which a party is reached; None if it has an address."""
        return next((relay for relay in self.relay if relay.site == party.relay), None)

    def address_of(self, party: PartyEntry) -> str:
        """Return a party's address for querying parties: its own, or its relay's."""
        relay = self.relay_of(party)
        return party.address if relay is None else relay.address


def listen_address(address: str, listen: str) -> str:
    """Return where to serve for the public `address`: `listen`, or its port on every interface."""
    return listen or f"{EVERYWHERE[0]}:{split_address(split_addresses(address)[0])[1]}"


def load_federation(path: Path) -> FederationFile:
    """Read a `federation.toml`.

    Raises:
        OstrakaError: config.invalid naming the first entry that is missing, unknown or wrong, or the two that
            contradict each other.
    """
    try:
        stated = read_toml(path)
        return FederationFile.model_validate(stated)
    except OSError as error:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"Cannot read {path}: {error.strerror}; examples/federation.toml shows what it holds.",
        ) from error
    except ValidationError as error:
        problem = first_problem(error, data=stated)
        raise OstrakaError(ErrorCode.CONFIG_INVALID, f"{path}: {problem}.") from error
    except TomlError as error:
        raise OstrakaError(ErrorCode.CONFIG_INVALID, f"{path} {error}; correct it.") from error


def _endpoint(name: str, address: str, listen: str) -> Endpoint:
    host, port = split_address(address)
    if not port:
        raise ValueError(f"the address {address} of the {name} has port 0: say at which port others reach it")
    known = "127.0.0.1" if host == "localhost" else host.lower()
    return Endpoint(name, known, port, split_address(listen)[1] if listen else port)


def _check_names(role: Role, sites: list[str]) -> None:
    for first, second in combinations(range(len(sites)), 2):
        if sites[first] == sites[second]:
            raise ValueError(
                f"[[{role}]] number {first + 1} and number {second + 1} are both {sites[first]}: give each"
                " site a name of its own"
            )


def _check_apart(one: Endpoint, other: Endpoint) -> None:
    if one.host != other.host:
        return
    if one.port == other.port or one.listen_port == other.listen_port:
        port = one.port if one.port == other.port else one.listen_port
        raise ValueError(
            f"the {one.name} and the {other.name} share port {port} on {one.host}: give one of them"
            " another port"
        )
