"""The compose fragment of a kit: one service, whose keys and state lie on a volume of its own."""

from ostraka.common.config import SiteConfig, split_address
from ostraka.deploy.provisioning.federation_file import EVERYWHERE
from ostraka.deploy.provisioning.sealing import SEAL

USER = "10001:10001"
STOP_S = 40
MEMORY = {"guardian": "2g", "party": "8g", "query": "8g", "admin": "2g"}
"""What a site's container may have, unless the environment says otherwise; as the Helm charts."""
PIDS = 2048
"""Processes and threads: 320 of a server's calls, and several for each core in linear algebra."""
FILES = 16_384
"""Open files, unless the environment says otherwise. A container engine starts none that may have more than
the engine itself: 20,000 is the least that was met. Without a limit, silent connections fill the memory."""
IMAGES = {"guardian": "guardian", "party": "party", "query": "client", "admin": "guardian"}
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
}


def compose_fragment(site: SiteConfig, version: str, *, gpu: bool = False) -> str:
    """Return the compose file of a site's kit: images `ostraka-ROLE:VERSION`, or `VERSION-cuda` with a GPU.

    Args:
        site: what the kit's site.toml says.
        version: of the images.
        gpu: whether the service gets a GPU.
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
    text += "".join(_bound(name) for name in bound_files(site))
    if site.listen:
        text += SERVER + _published(site.listen)
    else:
        text += _on_network()
    return text + (GPU if gpu else "") + _tail(host_network=_needs_host(site.listen))


def image_of(site: SiteConfig, version: str, *, gpu: bool) -> str:
    """Return the image that a site's service runs."""
    return f"ostraka-{IMAGES[site.role]}:{version}{'-cuda' if gpu else ''}"


def bound_files(site: SiteConfig) -> tuple[str, ...]:
    """Return what the container sees of the kit's folder: all that is sealed, and what the site adds."""
    kit = ("site.toml", "ca.crt", "crl.pem", "compose.yml", "README.md", SEAL)
    return (*kit, "task.toml", "data") if site.role in ("party", "query") else kit


def _bound(name: str) -> str:
    return f"      - {{type: bind, source: ./{name}, target: /site/{name}, read_only: true}}\n"


def _published(listen: str) -> str:
    port = split_address(listen)[1]
    if _needs_host(listen):
        return "    network_mode: host\n"
    return f'    ports: ["{port}:{port}"]\n' + _on_network()


def _on_network() -> str:
    return "    networks: [ostraka]\n"


def _needs_host(listen: str) -> bool:
    """Whether it listens at one of the machine's own addresses, which a container has only on its network."""
    return bool(listen) and split_address(listen)[0] not in EVERYWHERE


def _tail(*, host_network: bool) -> str:
    networks = "" if host_network else "networks:\n  ostraka: {}\n"
    return f"volumes:\n  site: {{}}\n{networks}"
