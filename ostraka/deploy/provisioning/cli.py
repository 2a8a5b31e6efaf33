"""`ostraka provision`: kits of a federation, and signing and revoking by its CA."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ostraka.common.clock import SystemClock
from ostraka.common.console.cli import write_json
from ostraka.common.console.commands import CommandGroup, LazyGroup
from ostraka.common.console.texts import count_text
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import replace_durably
from ostraka.common.identity import Role

Json = Annotated[str | None, typer.Option("--json", help="Write the result as JSON; - is stdout.")]
CaFolder = Annotated[Path, typer.Option("--ca", help="The CA's folder, like kits/ca.")]


class _FileFirst(LazyGroup):
    """A group that passes the name of a file to its command `kits`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the command's name before a file's name."""
        named = args and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if named or not args else ["kits", *args])


app = CommandGroup(
    "Make the sites' kits (`ostraka provision federation.toml --out kits`); sign and revoke certificates.",
    cls=_FileFirst,
)


@app.command()
def kits(
    file: Annotated[Path, typer.Argument(help="The federation.toml.")],
    out: Annotated[Path, typer.Option(help="Folder to write; it must be empty.")],
    ca: Annotated[Path | None, typer.Option("--ca", help="CA folder of an existing federation.")] = None,
    json: Json = None,
) -> None:
    """Write a CA and one kit for each site and role. You may leave out the word `kits`."""
    from ostraka.deploy.provisioning.kits import write_kits

    made = write_kits(file, out, ca=ca)
    folders = {name: str(folder) for name, folder in made.kits.items()}
    numbered = ", ".join(f"{name}/{made.number}" for name in folders)
    _tell(
        [
            f"Wrote {count_text(len(folders), 'kit')} to {out}: {', '.join(folders)}.",
            f"Send each site its own, and keep {made.ca} where no site can read it.",
            f"The CA's fingerprint, to be told to each site over another channel: {made.fingerprint}",
            f"Tell each site with it which kit is its newest: {numbered}.",
        ],
        {"ca": str(made.ca), "kits": folders, "fingerprint": made.fingerprint, "number": made.number},
        json,
    )


@app.command()
def sign(
    request: Annotated[Path, typer.Argument(help="The request.pem that a site sent.")],
    ca: CaFolder,
    fingerprint: Annotated[
        str | None, typer.Option(help="Fingerprint of the request, as the site told it over another channel.")
    ] = None,
    again: Annotated[
        bool,
        typer.Option(
            "--again", help="Sign although the site has valid certificates, because it renews its keys."
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="File to write. Default: certificates.pem in the folder of the request."),
    ] = None,
    json: Json = None,
) -> None:
    """Sign a site's request with the federation's CA."""
    from ostraka.deploy.provisioning.signing import sign_request

    target = out or request.with_name("certificates.pem")
    if not target.parent.is_dir():
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, f"There is no folder {target.parent}; name another --out."
        )
    signed = sign_request(_read(request), ca, SystemClock(), expected=fingerprint, again=again)
    replace_durably(target, signed.certificates)
    lines = [
        f"Signed {signed.identity.uri} for {signed.days} days.",
        f"The request's fingerprint: {signed.fingerprint}",
        f"Send {target} to the site, which installs it with `ostraka site install`.",
    ]
    if fingerprint is None:
        lines.insert(2, "Send nothing before the site has read the same fingerprint to you.")
    values = {"identity": signed.identity.uri, "fingerprint": signed.fingerprint, "certificates": str(target)}
    _tell(lines, values, json)


@app.command()
def revoke(
    site: Annotated[str, typer.Argument(help="The site's name.")],
    role: Annotated[Role, typer.Option(help="The role whose certificates are revoked.")],
    ca: CaFolder,
    json: Json = None,
) -> None:
    """Revoke the certificates that a site holds in a role."""
    from ostraka.deploy.provisioning.signing import revoke_site

    revoked = revoke_site(site, role, ca, SystemClock())
    _tell(
        [
            f"Revoked {count_text(revoked.certificates, 'certificate')} of {revoked.identity.uri}.",
            "They stay valid until an administrator of the guardian puts the list into force: ostraka "
            f"guardian revoke {revoked.list_file} --reason ...",
        ],
        {
            "identity": revoked.identity.uri,
            "revoked": revoked.certificates,
            "revocation_list": str(revoked.list_file),
        },
        json,
    )


@app.command()
def local(
    federation: Annotated[str, typer.Option(help="Name of the federation.")],
    parties: Annotated[str, typer.Option(help="Site names of the answering parties: a,b,c.")],
    query: Annotated[str, typer.Option(help="Site name of the querying party.")],
    out: Annotated[Path, typer.Option(help="Folder to write; it must be empty.")],
    guardian: Annotated[str, typer.Option(help="Site name of the guardian.")] = "guardian",
    host: Annotated[str, typer.Option(help="Host of every server.")] = "127.0.0.1",
    base_port: Annotated[
        int, typer.Option(help="The guardian's port; the parties get the ports after it.")
    ] = 17700,
    json: Json = None,
) -> None:
    """Write a whole federation with the keys of all sites, for trials on one machine."""
    from ostraka.deploy.provisioning.provision import provision

    names = [name.strip() for name in parties.split(",")]
    made = provision(federation, names, query, out, guardian=guardian, host=host, base_port=base_port)
    servers = {"guardian": str(made.guardian), "admin": str(made.admin), "query": str(made.query)}
    folders = {site: str(folder) for site, folder in made.parties.items()}
    lone = ["Warning: one party alone answers nothing, as at least two release together."]
    _tell(
        [
            f"Wrote {out} with everybody's keys, for trials on one machine.",
            *(lone if len(names) == 1 else []),
        ],
        {"ca": str(made.ca), **servers, "parties": folders},
        json,
    )


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, f"Cannot read {path}: {error.strerror}; name the request.pem of a site."
        ) from error


def _tell(lines: list[str], values: object, json: str | None) -> None:
    if json != "-":
        typer.echo("\n".join(lines))
    write_json(values, json)
