"""A wheel's bill of materials names the wheel, and what it may bring."""

import hashlib
import json
from pathlib import Path
from zipfile import ZipFile

from ostraka.deploy.release import bill
from ostraka.deploy.release.commit import Commit

COMMIT = Commit(Path(), "0" * 40, 1_767_323_045, tagged=True)
METADATA = """\
Metadata-Version: 2.4
Name: ostraka
Version: 1.2.3
Requires-Dist: numpy<3,>=2.0; extra == "guardian"
Requires-Dist: ostraka[accounting]; extra == "guardian"
Requires-Dist: numpy<3,>=2.0; extra == "party"
Requires-Dist: XGBoost_CPU<4,>=3; sys_platform != "darwin" and extra == "boosting"
Requires-Dist: typer<1,>=0.19
Requires-Dist: mkdocs<2,>=1.6; extra == "docs"
Requires-Dist: pytest<10,>=8.3; extra == "dev"
"""


def follows_the_format(text: str) -> bool:
    # Imported here because it compiles dozens of grammars, which every process that collects tests would do.
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    return JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None


def wheel(folder: Path) -> Path:
    folder.mkdir()
    file = folder / "ostraka-1.2.3-py3-none-any.whl"
    with ZipFile(file, "w") as archive:
        archive.writestr("ostraka-1.2.3.dist-info/METADATA", METADATA)
    return file


def test_it_names_every_package_once_that_running_needs(tmp_path: Path) -> None:
    made = wheel(tmp_path / "one")
    file = bill.write(made, COMMIT)
    text = file.read_text(encoding="utf-8")
    found = json.loads(text)
    assert file.name == "ostraka-1.2.3.cdx.json"
    assert follows_the_format(text)
    subject = found["metadata"]["component"]
    assert (subject["name"], subject["version"]) == ("ostraka", "1.2.3")
    (stated,) = subject["hashes"]
    assert stated["content"] == hashlib.sha256(made.read_bytes()).hexdigest()
    assert {part["name"]: part["description"] for part in found["components"]} == {
        "numpy": "numpy<3,>=2.0",
        "typer": "typer<1,>=0.19",
        "xgboost-cpu": "XGBoost_CPU<4,>=3",
    }


def test_the_bill_of_the_same_wheel_has_the_same_bytes(tmp_path: Path) -> None:
    one = wheel(tmp_path / "one")
    other = tmp_path / one.name
    other.write_bytes(one.read_bytes())
    assert bill.write(one, COMMIT).read_bytes() == bill.write(other, COMMIT).read_bytes()
