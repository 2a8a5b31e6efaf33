"""The README of a kit: from the kit to a running service in three commands."""

import shlex

from ostraka.common.config import SiteConfig
from ostraka.deploy.provisioning.compose import image_of

TITLES = {
    "guardian": "the guardian",
    "party": "an answering party",
    "query": "a querying party",
    "admin": "an administrator of the guardian",
}
TEXT = """\
# {site}: {title} of federation {federation}

This kit holds no secret. Private keys are made here, in step 1, and never leave this site.

Before you begin, ask the federation's coordinator for the fingerprint of its CA, and which kit is your
newest, SITE-ROLE/NUMBER, **by another way than this kit came**, by telephone for example.{needs}

With Docker, in this folder. What starts is what `compose.yml` says, so the first command checks the kit, with
an image that you have from elsewhere; both commands refuse another kit than `--expect` names:

```sh
docker run --rm --network none -v "$PWD:/kit:ro" {image} \\
  site verify /kit --ca-fingerprint SHA256:... --expect ...
docker compose run --rm {role} site init /site --ca-fingerprint SHA256:... --expect ...
docker compose run --rm -T {role} site install /site - < certificates.pem
{run_docker}
```

Or with Ostraka installed on the machine:

```sh
ostraka site init . --ca-fingerprint SHA256:... --expect ...
ostraka site install . certificates.pem
{run_local}
```

Between the first and the second: send `request.pem` to the coordinator, read out its fingerprint, which
`site init` printed, and get `certificates.pem` back. With Docker the request is on the volume; this writes
it here:

```sh
docker compose run --rm -T --entrypoint cat {role} /site/request.pem > request.pem
```

What is missing or wrong, and what to do about it, say

```sh
docker compose run --rm {role} site check /site
ostraka site check .
```
{more}
"""
TASK = "\n\nPut the federation's `task.toml` beside this file, and your records into `data/`."
TRAIN = """
A party trains its teachers before it serves:

```sh
docker compose run --rm party party train --site /site --data /site/data/records.npz --teachers 20
ostraka party train --site . --data data/records.npz --teachers 20
```
"""
LABEL = """
Label a pool; the federation agrees on other options:

```sh
docker compose run --rm query query label --site /site --pool /site/data/pool.npz --out /site/run
ostraka query label --site . --pool data/pool.npz --out run
```
"""
DATABASE = """
The ledger is in PostgreSQL. Write its URL, `postgresql+psycopg://USER:PASSWORD@HOST/NAME`, into `{url_file}`
here, readable by you alone; with Docker put it on the volume, too:

```sh
docker compose run --rm -T --entrypoint sh guardian -c {keep} < {quoted}
```

Further replicas get a copy of the whole site folder with its keys and `ledger.key`, and change `address` in
`[ledger]` to their own.
"""
LEDGER_KEY = """
Back up the ledger with `ostraka guardian ledger backup`, and `ledger.key`, which appears beside it at the
first start.
"""


def readme(site: SiteConfig, version: str, url_file: str | None = None, *, gpu: bool = False) -> str:
    """Return the text for one site and role.

    Args:
        site: what the kit's site.toml says.
        version: of the images.
        url_file: the file with the URL of a guardian's database.
        gpu: whether the service gets a GPU.
    """
    more = {"party": TRAIN, "query": LABEL, "guardian": LEDGER_KEY, "admin": ""}[site.role]
    if url_file is not None:
        keep = shlex.quote(f"umask 077; cat > {shlex.quote(f'/site/{url_file}')}")
        more = DATABASE.format(url_file=url_file, keep=keep, quoted=shlex.quote(url_file)) + more
    docker, local = _running(site)
    return TEXT.format(
        site=site.site,
        title=TITLES[site.role],
        federation=site.federation,
        role=site.role,
        image=image_of(site, version, gpu=gpu),
        needs=TASK if site.role in ("party", "query") else "",
        run_docker=docker,
        run_local=local,
        more=more,
    )


def _running(site: SiteConfig) -> tuple[str, str]:
    if site.role in ("guardian", "party"):
        return "docker compose up -d", f"ostraka {site.role} serve --site ."
    if site.role == "admin":
        command = "guardian budget show --site"
        return f"docker compose run --rm admin {command} /site", f"ostraka {command} ."
    return "docker compose run --rm query site check /site", "ostraka site check ."
