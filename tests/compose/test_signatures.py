"""Signatures and bills of images: the release workflow's own lines, with a key where it has a certificate."""

import base64
import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from ostraka.deploy.images import build, sbom
from tests.compose import engine, signing
from tests.compose.project import docker
from tests.test_workflows import jobs

pytestmark = pytest.mark.compose

ROLE = "guardian"
BILL = "guardian.cdx.json"
STEP = "Sign, and attest the bill of materials"
LOCAL = ("--key", "cosign.key", "--tlog-upload=false")
"""A key in place of a certificate, and no entry in the public log."""
CHECKED = ("--insecure-ignore-tlog", "--output", "json")


@dataclass(frozen=True)
class Signed:
    """An image in a registry, signed in a folder with its keys and its bill of materials."""

    folder: Path
    place: str
    image: str
    """Its place and digest."""

    def cosign(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run cosign in the folder."""
        return run(self.folder, str(signing.cosign()), *arguments)

    def verify(self, image: str, *, key: str = "cosign.pub") -> subprocess.CompletedProcess[str]:
        """Verify the signature of an image."""
        return self.cosign("verify", "--key", key, *CHECKED, image)


def run(folder: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder; keys of cosign have an empty password."""
    environment = os.environ | {"COSIGN_PASSWORD": ""} | variables
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def add_options(folder: Path, options: Sequence[str]) -> Path:
    """Return a folder for the path of programs, in which cosign gets `options` after its subcommand."""
    programs = folder / "programs"
    programs.mkdir()
    program = programs / "cosign"
    program.write_text(f'#!/bin/sh\ndo=$1\nshift\nexec {signing.cosign()} "$do" {" ".join(options)} "$@"\n')
    program.chmod(0o755)
    return programs


def push(place: str) -> str:
    """Push the image of a tag, and return its place and digest."""
    docker("push", "--quiet", place)
    return docker("image", "inspect", "--format", "{{index .RepoDigests 0}}", place).strip()


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Signed]:
    engine.ensure()
    engine.build()
    folder = tmp_path_factory.mktemp("signed")
    sbom.write(f"{ROLE}.txt", folder / "dist")
    (sign,) = (step for step in jobs("release")["images"]["steps"] if step.get("name") == STEP)
    with signing.registry(folder) as address:
        place = f"{address}/ostraka-{ROLE}:0.1.0"
        docker("tag", build.tag(ROLE), place)
        try:
            made = Signed(folder, place, push(place))
            assert made.cosign("generate-key-pair").returncode == 0
            path = f"{add_options(folder, LOCAL)}:{os.environ['PATH']}"
            done = run(folder, "bash", "-ec", sign["run"], PATH=path, IMAGE=made.image, BILL=BILL)
            assert done.returncode == 0, done.stderr
            yield made
        finally:
            docker("image", "rm", place)


def test_whoever_has_the_public_key_verifies_an_image(signed: Signed) -> None:
    verified = signed.verify(signed.place)
    assert verified.returncode == 0, verified.stderr
    (claim,) = json.loads(verified.stdout)
    assert claim["critical"]["image"]["docker-manifest-digest"] == signed.image.partition("@")[2]


def test_the_bill_of_materials_is_attested(signed: Signed) -> None:
    options = ("--key", "cosign.pub", "--insecure-ignore-tlog", "--type", "cyclonedx")
    verified = signed.cosign("verify-attestation", *options, signed.image)
    assert verified.returncode == 0, verified.stderr
    statement = json.loads(base64.b64decode(json.loads(verified.stdout)["payload"]))
    assert statement["subject"][0]["digest"]["sha256"] == signed.image.partition("sha256:")[2]
    assert statement["predicate"] == json.loads((signed.folder / "dist" / BILL).read_text())


def test_another_key_verifies_nothing(signed: Signed) -> None:
    (signed.folder / "other").mkdir(exist_ok=True)
    made = run(signed.folder / "other", str(signing.cosign()), "generate-key-pair")
    assert made.returncode == 0, made.stderr
    assert signed.verify(signed.image, key="other/cosign.pub").returncode != 0


def test_an_image_that_takes_its_tag_is_not_verified(signed: Signed) -> None:
    changed = f"FROM {signed.place}\nLABEL changed=1\n"
    built = ["docker", "build", "--quiet", "--tag", signed.place, "-"]
    subprocess.run(built, input=changed, text=True, check=True, capture_output=True)
    assert push(signed.place) != signed.image
    refused = signed.verify(signed.place)
    assert refused.returncode != 0
    assert "no signatures found" in refused.stderr
    assert signed.verify(signed.image).returncode == 0
