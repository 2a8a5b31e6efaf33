"""A bill of materials has what its lock file has."""

import json
from pathlib import Path

import pytest

from ostraka.deploy.images import locks, sbom


@pytest.mark.heavy
def test_every_locked_package_is_in_it_with_its_hashes(tmp_path: Path) -> None:
    file = sbom.write("build.txt", tmp_path)
    bill = json.loads(file.read_text(encoding="utf-8"))
    (package,) = bill["components"]
    hashes = {
        entry["content"] for reference in package["externalReferences"] for entry in reference["hashes"]
    }
    text = (locks.FOLDER / "build.txt").read_text(encoding="utf-8")
    assert f"{package['name']}=={package['version']} " in text
    assert hashes
    assert all(f"--hash=sha256:{digest}" in text for digest in hashes)
    assert bill["metadata"]["component"]["name"] == "ostraka"
