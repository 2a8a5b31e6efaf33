"""Possible dependencies of a wheel: a bill of materials. For images: `deploy/images/sbom.py`."""

import hashlib
from datetime import UTC, datetime
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5
from zipfile import ZipFile

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL
from packaging.requirements import Requirement

from ostraka.deploy.images.locks import name
from ostraka.deploy.release.commit import Commit

_NOT_TO_RUN = ('extra == "dev"', 'extra == "docs"')
"""How markers of requirements end that are not needed to run Ostraka."""


def write(wheel: Path, commit: Commit) -> Path:
    """Write the requirements of `wheel` as CycloneDX JSON beside it, and return the file.

    Components have no version, because pip may install any in a range; the range is their description.
    """
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    metadata = _metadata(wheel)
    subject = Component(
        name=metadata["Name"],
        version=metadata["Version"],
        type=ComponentType.APPLICATION,
        bom_ref=metadata["Name"],
        purl=PackageURL(type="pypi", name=metadata["Name"], version=metadata["Version"]),
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest)],
    )
    made = BomMetaData(component=subject, timestamp=datetime.fromtimestamp(commit.seconds, UTC))
    parts = [_component(package, stated) for package, stated in _read_requirements(metadata).items()]
    bom = Bom(components=parts, metadata=made, serial_number=uuid5(NAMESPACE_URL, digest))
    bom.register_dependency(subject, parts)
    file = wheel.with_name(f"{subject.name}-{subject.version}.cdx.json")
    file.write_text(JsonV1Dot6(bom).output_as_string(indent=2), encoding="utf-8")
    return file


def _metadata(wheel: Path) -> Message:
    with ZipFile(wheel) as archive:
        (found,) = (entry for entry in archive.namelist() if entry.endswith(".dist-info/METADATA"))
        return message_from_bytes(archive.read(found))


def _read_requirements(metadata: Message) -> dict[str, Requirement]:
    """Return by name the wheel's requirements at run time, with any of its extras, on any system."""
    stated = (Requirement(line) for line in metadata.get_all("Requires-Dist", []))
    needed = (one for one in stated if not str(one.marker).endswith(_NOT_TO_RUN))
    return {name(one.name): one for one in needed if one.name != metadata["Name"]}


def _component(package: str, stated: Requirement) -> Component:
    described = f"{stated.name}{stated.specifier}"
    return Component(
        name=package, description=described, purl=PackageURL(type="pypi", name=package), bom_ref=package
    )
