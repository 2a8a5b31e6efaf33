"""Reading what pip-audit says, and what it is asked."""

import json
from collections.abc import Mapping

from ostraka.deploy.images.sbom import public, read

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
