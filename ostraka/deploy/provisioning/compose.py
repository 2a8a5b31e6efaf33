"""How to start a kit: its compose fragment, and its README from the kit to a running service."""

import shlex

from ostraka.common.config import SiteConfig, split_address
from ostraka.deploy.provisioning.federation_file import EVERYWHERE
from ostraka.deploy.provisioning.sealing import SEAL

USER = "10001:10001"
STOP_S = 40
MEMORY = {"guardian": "2g", "party": "8g", "query": "8g", "admin": "2g", "relay": "1g"}
"""Memory limit of a site's container, unless the environment sets another; as in the Helm charts."""
PIDS = 2048
"""Limit of processes and threads: 320 for a server's calls, and several for each core in linear algebra."""
FILES = 16_384
"""Limit of open files, unless the environment sets another. A container engine starts no container with a
higher limit than its own: 20,000 is the lowest limit found so far. Without a limit, silent connections fill
the memory."""
IMAGES = {
    "guardian": "guardian",
    "party": "party",
    "query": "client",
    "admin": "guardian",
    "relay": "guardian",
}
HEAD = """\
# One service: `docker compose up -d` starts it. Its keys are made on the volume `site` and never leave it.
# Files of this folder are read-only inside.
services:
  {role}:
    image: {image}
    command: {command}
    user: "{user}"
    read_only: true
    cap_drop: [ALL]
    security_opt: ["no-new-privileges:true"]
    tmpfs: [/tmp]
    mem_limit: ${{OSTRAKA_MEMORY:-{memory}}}
    pids_limit: {pids}
    ulimits: {{nofile: "${{OSTRAKA_FILES:-{files}}}"}}
    stop_grace_period: {stop_s}s
    volumes:
      - site:/site
"""
SERVER = """\
    restart: unless-stopped
    healthcheck:
      test: ["CMD", "ostraka", "site", "health", "/site"]
      interval: 30s
      timeout: 10s
      start_period: 60s
      retries: 3
"""
GPU = """\
    deploy:
      resources:
        reservations:
          devices:
            - driver: nvidia
              count: 1
              capabilities: [gpu]
"""
COMMANDS = {
    "guardian": '["guardian", "serve", "--site", "/site"]',
    "party": '["party", "serve", "--site", "/site"]',
    "query": '["query", "--help"]',
    "admin": '["guardian", "--help"]',
    "relay": '["relay", "serve", "--site", "/site"]',
}


def compose_fragment(site: SiteConfig, version: str, *, gpu: bool = False, relayed: bool = False) -> str:
    """Return the compose file of a site's kit.

    Its images are `ostraka-ROLE:VERSION`, or `VERSION-cuda` with a GPU.

    Args:
        site: the kit's site.toml.
        version: of the images.
        gpu: whether the service gets a GPU.
        relayed: whether it is reached only through a relay, and needs no port of the machine.
    """
    text = HEAD.format(
        role=site.role,
        image=image_of(site, version, gpu=gpu),
        command=COMMANDS[site.role],
        user=USER,
        memory=MEMORY[site.role],
        pids=PIDS,
        files=FILES,
        stop_s=STOP_S,
    )
    text += "".join(_mount(name) for name in files_in_container(site))
    if site.listen:
        text += SERVER + (_on_network() if relayed else _ports(site.listen))
    else:
        text += _on_network()
    return text + (GPU if gpu else "") + _tail(host_network=_needs_host(site.listen) and not relayed)


def image_of(site: SiteConfig, version: str, *, gpu: bool) -> str:
    """Return the image that a site's service runs."""
    return f"ostraka-{IMAGES[site.role]}:{version}{'-cuda' if gpu else ''}"


def files_in_container(site: SiteConfig) -> tuple[str, ...]:
    """Return the container's files of the kit's folder: all sealed files, and those that the site adds."""
    kit = ("site.toml", "ca.crt", "crl.pem", "compose.yml", "README.md", SEAL)
    return (*kit, "task.toml", "data") if site.role in ("party", "query") else kit


def _mount(name: str) -> str:
    return f"      - {{type: bind, source: ./{name}, target: /site/{name}, read_only: true}}\n"


def _ports(listen: str) -> str:
    port = split_address(listen)[1]
    if _needs_host(listen):
        return "    network_mode: host\n"
    return f'    ports: ["{port}:{port}"]\n' + _on_network()


def _on_network() -> str:
    return "    networks: [ostraka]\n"


def _needs_host(listen: str) -> bool:
    """Whether it listens at an address of the machine, which a container has only on the host's network."""
    return bool(listen) and split_address(listen)[0] not in EVERYWHERE


def _tail(*, host_network: bool) -> str:
    networks = "" if host_network else "networks:\n  ostraka: {}\n"
    return f"volumes:\n  site: {{}}\n{networks}"


TITLES = {
    "guardian": "the guardian",
    "party": "an answering party",
    "query": "a querying party",
    "admin": "an administrator of the guardian",
    "relay": "a relay",
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
        site: the kit's site.toml.
        version: of the images.
        url_file: the file with the URL of a guardian's database.
        gpu: whether the service gets a GPU.
    """
    more = {"party": TRAIN, "query": LABEL, "guardian": LEDGER_KEY, "admin": "", "relay": ""}[site.role]
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
    if site.role in ("guardian", "party", "relay"):
        return "docker compose up -d", f"ostraka {site.role} serve --site ."
    if site.role == "admin":
        command = "guardian budget show --site"
        return f"docker compose run --rm admin {command} /site", f"ostraka {command} ."
    return "docker compose run --rm query site check /site", "ostraka site check ."
