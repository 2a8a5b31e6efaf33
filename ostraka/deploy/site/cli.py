"""`ostraka site`: a kit's keys and certificates, its preflight checks and its health."""

import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from ostraka.common.console.commands import CommandGroup

app = CommandGroup("Make a site's keys, install its certificates, and check the site.")
KitFolder = Annotated[Path, typer.Argument(help="The site's kit.")]
Fingerprint = Annotated[
    str, typer.Option("--ca-fingerprint", help="The CA's fingerprint, received over another channel.")
]
Expected = Annotated[
    str | None,
    typer.Option(
        "--expect",
        help="The kit's name as the coordinator told it, such as alpha-party/2; any other kit is refused.",
    ),
]
Json = Annotated[str | None, typer.Option("--json", help="Write the result as JSON; - is stdout.")]


@app.command()
def verify(kit: KitFolder, ca_fingerprint: Fingerprint, expect: Expected = None, json: Json = None) -> None:
    """Verify a new kit against its CA's seal, without using it."""
    from ostraka.deploy.site import keys

    found = keys.verify(kit, ca_fingerprint, expect)
    told = found.model_dump(exclude={"ca"})
    _tell(f"{kit} is as its CA signed it. {found}", {"kit": str(kit), "verified": True, **told}, json)


@app.command()
def init(kit: KitFolder, ca_fingerprint: Fingerprint, expect: Expected = None, json: Json = None) -> None:
    """Verify a new kit, make its keys, and write request.pem."""
    from ostraka.deploy.site import keys
    from ostraka.deploy.site.kit import last_opened

    fingerprint = keys.init(kit, ca_fingerprint, expect)
    if json != "-":
        typer.echo(f"{kit} is as its CA signed it. {last_opened(kit)}")
    _tell_request(kit, fingerprint, json)


@app.command()
def renew(kit: KitFolder, json: Json = None) -> None:
    """Make new keys and request.pem; the keys in use stay until `install`."""
    from ostraka.deploy.site import keys

    _tell_request(kit, keys.renew(kit), json)


@app.command()
def install(
    kit: KitFolder,
    certificates: Annotated[str, typer.Argument(help="The certificates.pem from the CA; - is stdin.")],
    json: Json = None,
) -> None:
    """Install the certificates that the CA sent back, and put the new keys into use."""
    from ostraka.common.clock import SystemClock
    from ostraka.deploy.site.keys import install as install_certificates

    done = install_certificates(kit, _read(certificates), SystemClock())
    until = datetime.fromtimestamp(done.expires_unix_s, UTC)
    again = " Restart its server: it has the old ones until then." if done.renewed else ""
    _tell(
        f"{done.identity.uri} has certificates until {until:%Y-%m-%d}.{again}",
        {"identity": done.identity.uri, "expires_unix_s": done.expires_unix_s, "renewed": done.renewed},
        json,
    )


@app.command()
def check(kit: KitFolder, json: Json = None) -> None:
    """Check everything a site needs to run, and suggest fixes."""
    from ostraka.common.console.cli import write_json
    from ostraka.common.telemetry import progress
    from ostraka.deploy.site.finding import findings_table
    from ostraka.deploy.site.preflight import FAILED, preflight

    with progress() as bar:
        task = bar.add_task("Checking", total=None)
        findings = preflight(kit, lambda done, total: bar.update(task, completed=done, total=total))
    if json != "-":
        from ostraka.common.console.screen import Screen

        Screen().print(findings_table(findings))
    write_json([asdict(finding) for finding in findings], json)
    if any(finding.state == FAILED for finding in findings):
        raise typer.Exit(2)


@app.command()
def health(kit: KitFolder, json: Json = None) -> None:
    """Ask this site's own server whether it serves; exit with status 0 if it does, else 1."""
    from ostraka.deploy.site.health import is_serving

    serving = is_serving(kit)
    _tell("serving" if serving else "not serving", {"serving": serving}, json)
    if not serving:
        raise typer.Exit(1)


def _tell_request(kit: Path, fingerprint: str, json: str | None) -> None:
    from ostraka.common.identity.certificate_requests import REQUEST

    request = kit / REQUEST
    sentence = (
        f"Send {request} to the federation's coordinator, and read its fingerprint out: {fingerprint}\n"
        f"Then: ostraka site install {kit} certificates.pem"
    )
    _tell(sentence, {"request": str(request), "fingerprint": fingerprint}, json)


def _read(certificates: str) -> bytes:
    from ostraka.common.errors import ErrorCode, OstrakaError

    if certificates == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(certificates).read_bytes()
    except OSError as error:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"Cannot read {certificates}: {error.strerror}; name the certificates.pem from the CA.",
        ) from error


def _tell(sentence: str, values: object, json: str | None) -> None:
    from ostraka.common.console.cli import write_json

    if json != "-":
        typer.echo(sentence)
    write_json(values, json)
