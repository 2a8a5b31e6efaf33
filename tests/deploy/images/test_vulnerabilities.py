"""Reading what pip-audit and PyPI say, and what they are asked."""

import json
from collections.abc import Iterator, Mapping
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import httpx
import pytest

from ostraka.deploy.images.vulnerabilities import (
    PackageAudit,
    look_up_newest,
    project,
    public,
    pypi,
    read,
    versions,
)

FOUND = {"id": "PYSEC-2026-1", "fix_versions": ["2.1"], "aliases": [], "description": ""}


def answer(*packages: Mapping[str, object]) -> str:
    return json.dumps({"dependencies": packages, "fixes": []})


def test_a_finding_names_package_version_and_what_mends_it() -> None:
    found = read(answer({"name": "grpcio", "version": "2.0", "vulns": [FOUND]}))
    assert found.findings == ("grpcio 2.0: PYSEC-2026-1, mended in 2.1",)
    unmended = read(answer({"name": "grpcio", "version": "2.0", "vulns": [{**FOUND, "fix_versions": []}]}))
    assert unmended.findings == ("grpcio 2.0: PYSEC-2026-1, mended in no version yet",)


def test_packages_that_the_database_lacks_do_not_count_as_looked_up() -> None:
    known = {"name": "numpy", "version": "2.4.6", "vulns": []}
    result = read(answer(known, {"name": "private", "skip_reason": "Dependency not found on PyPI"}))
    assert (result.looked_up, result.unknown, result.findings) == (1, ("private",), ())


def test_a_build_for_one_device_is_looked_up_as_its_version() -> None:
    lock = "torch==2.13.0+cpu \\\n    --hash=sha256:67\nnumpy==2.4.6 \\\n    --hash=sha256:00\n"
    assert public(lock) == lock.replace("+cpu", "")
    assert versions(public(lock)) == {"torch": "2.13.0", "numpy": "2.4.6"}


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[httpx.Client]:
    """Serve pages of projects alone, as mirrors do, and one page that is none."""
    told = {
        "mended": ("2.0", []),
        "broken": ("1.0", [{"id": "PYSEC-2026-2", "fixed_in": [], "withdrawn": None}]),
        "cleared": ("1.0", [{"id": "PYSEC-2026-3", "fixed_in": ["1.1"], "withdrawn": "2026-11-01"}]),
    }
    for name, (version, vulnerabilities) in told.items():
        (tmp_path / name).mkdir()
        page = {"info": {"version": version, "name": name}, "vulnerabilities": vulnerabilities}
        (tmp_path / name / "json").write_text(json.dumps(page))
    (tmp_path / "behind-a-login").mkdir()
    (tmp_path / "behind-a-login" / "json").write_text("<html>")
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        with pypi(f"http://127.0.0.1:{server.server_port}") as client:
            yield client
        server.shutdown()


def test_a_mirror_tells_of_versions_that_are_the_newest(mirror: httpx.Client) -> None:
    locked = {"mended": "1.0", "broken": "1.0", "cleared": "1.0", "behind-a-login": "1", "private": "1"}
    found = look_up_newest(PackageAudit(3, tuple(locked), ()), locked, partial(project, mirror))
    assert found.looked_up == 3 + 2
    assert found.unknown == ("mended", "behind-a-login", "private")
    assert found.findings == ("broken 1.0: PYSEC-2026-2, mended in no version yet",)


def test_an_index_that_does_not_answer_tells_nothing() -> None:
    with pypi("http://127.0.0.1:9") as nobody:
        assert project(nobody, "numpy") is None
