"""The kit that a site opened last: a later one is for the same site, and no older.

A seal says that a CA made a kit, not that it made no other since, nor for whom its carrier delivers it.
"""

from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import replace_durably
from ostraka.common.identity import Identity
from ostraka.deploy.provisioning.sealing import OPENED

MOST_BYTES = 4096


class OpenedKit(BaseModel):
    """What a kit's seal and settings say of it, and the file `kit.opened` of the one opened last.

    Attributes:
        ca: fingerprint of its CA's certificate.
        site: whom it is for.
        role: as what.
        federation: of which federation.
        number: of its CA's kits; 0 for one that an earlier version made.
        made_unix_s: when; 0 for one that an earlier version made.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    ca: str
    site: str
    role: str
    federation: str
    number: int = Field(ge=0)
    made_unix_s: int = Field(ge=0, lt=1 << 36)

    @classmethod
    def of(cls, identity: Identity, ca: str, number: int, made_unix_s: int) -> "OpenedKit":
        """Return what is told of the kit of an identity."""
        return cls(
            ca=ca,
            site=identity.site,
            role=identity.role.value,
            federation=identity.federation,
            number=number,
            made_unix_s=made_unix_s,
        )

    @property
    def name(self) -> str:
        """Its folder's name where it was made, and its number: what the coordinator tells."""
        return f"{self.site}-{self.role}/{self.number}"

    def __str__(self) -> str:
        """One sentence for whoever opens it."""
        whose = f"It is for the {self.role} {self.site} of {self.federation}"
        if not self.number:
            return (
                f"{whose}; its seal has no date and no number, as those of earlier versions:"
                " ask the coordinator whether it is the newest."
            )
        return (
            f"{whose}, number {self.number}, made {self.date}: compare that with what the coordinator says."
        )

    @property
    def date(self) -> str:
        """When it was made."""
        return f"{datetime.fromtimestamp(self.made_unix_s, UTC):%Y-%m-%d %H:%M} UTC"


def check_expected(kit: OpenedKit, expected: str) -> None:
    """Check that a kit is the one that the coordinator told, SITE-ROLE or SITE-ROLE/NUMBER.

    Raises:
        OstrakaError: kit.unexpected.
    """
    told = kit.name if "/" in expected else kit.name.partition("/")[0]
    if told != expected:
        raise _unexpected(f"This is the kit {told}, not {expected[:100]!r}")


def check_follows(folder: Path, kit: OpenedKit) -> None:
    """Check that a kit is for the site that opened one in this folder before, and not older than that.

    A kit of another CA follows nothing.

    Raises:
        OstrakaError: kit.unexpected; config.invalid where it cannot be told what was opened.
    """
    before = last_opened(folder)
    if before is None or before.ca != kit.ca:
        return
    if (kit.site, kit.role) != (before.site, before.role):
        raise _unexpected(
            f"This is a kit of {kit.site}-{kit.role}, and {folder} is {before.site}-{before.role}"
        )
    if (kit.number, kit.made_unix_s) < (before.number, before.made_unix_s):
        this = (
            f"number {kit.number}, made {kit.date}" if kit.number else "of an earlier version, without a date"
        )
        raise _unexpected(
            f"This kit is {this}, and number {before.number}, made {before.date}, was opened here before"
        )


def remember(folder: Path, kit: OpenedKit) -> None:
    """Keep in a kit's folder that this one was opened."""
    replace_durably(folder / OPENED, kit.model_dump_json(indent=2).encode() + b"\n")


def last_opened(folder: Path) -> OpenedKit | None:
    """Return the kit that was opened last in a folder, if one was; raises config.invalid."""
    path = folder / OPENED
    try:
        with path.open("rb") as file:
            return OpenedKit.model_validate_json(file.read(MOST_BYTES))
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"Cannot read in {path} which kit was opened here; remove it if the coordinator says that this"
            " kit is the newest.",
        ) from error


def _unexpected(problem: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.KIT_UNEXPECTED,
        f"{problem}; use nothing in it, and ask the federation's coordinator for this site's newest kit.",
    )
