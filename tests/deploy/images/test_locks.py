"""Lock files agree with pyproject.toml, and hold what each role's code imports."""

import re
from importlib.metadata import packages_distributions

import pytest
from packaging.requirements import Requirement

from ostraka.deploy.images import locks
from ostraka.deploy.images.locks import name
from tests.deploy.images.imports import outside

CODE = {"guardian": ("guardian",), "party": ("services",), "client": ("client",)}
OTHERS = {
    "guardian": {
        "matplotlib",
        "opendp",
        "pyarrow",
        "safetensors",
        "scikit-learn",
        "skops",
        "tenseal",
        "torch",
    },
    "party": {"alembic", "matplotlib", "opendp", "sqlalchemy"},
    "client": {"alembic", "opendp", "sqlalchemy"},
}
ABSENT = {
    ("ostraka.common.page.drawing", "guardian"): "plots of plans are drawn elsewhere",
    ("ostraka.common.datasets", "guardian"): "records are read by parties and clients alone",
    **{("ostraka.common.datasets.spreadsheets", role): "an extra that images do not have" for role in CODE},
    ("ostraka.guardian.noise.opendp_noise", "guardian"): "an extra that images do not have",
    ("ostraka.services.teachers.on_ray", "party"): "an extra that images do not have",
    ("ostraka.client.students.dp_sgd.private_training", "client"): "an extra that images do not have",
    **{("ostraka.common.telemetry.progress", role): "notebooks bring IPython" for role in CODE},
    ("ostraka.common.datasets.frames", "client"): "programs that want data frames bring pandas",
    ("ostraka.client.run.labels", "client"): "pandas for types alone",
    ("ostraka.client.run.planning", "client"): "pandas for types alone",
}
"""Modules, with those below them, that import what an image lacks, for a reason."""


def is_absent(module: str, role: str) -> bool:
    parts = module.split(".")
    return any((".".join(parts[:end]), role) in ABSENT for end in range(1, len(parts) + 1))


def locked(lock: str) -> dict[str, str]:
    text = (locks.FOLDER / lock).read_text(encoding="utf-8")
    return dict(re.findall(r"^(\S+)==(\S+)", text, flags=re.M))


@pytest.mark.parametrize("lock", locks.files())
def test_every_requirement_is_locked_in_its_range(lock: str) -> None:
    versions = locked(lock)
    for line in locks.files()[lock]:
        wanted = Requirement(line)
        version = versions.get(name(line))
        assert version is not None, f"`make locks`: {lock} lacks {wanted.name}"
        assert wanted.specifier.contains(version), (
            f"`make locks`: {lock} has {wanted.name} {version}, not {line}"
        )


@pytest.mark.parametrize("lock", locks.files())
def test_every_package_has_hashes(lock: str) -> None:
    text = (locks.FOLDER / lock).read_text(encoding="utf-8")
    packages = re.split(r"\n(?=\S+==)", text)[1:]
    assert packages
    assert all("--hash=sha256:" in package for package in packages)
    assert "://" not in text, "a lock file names no host"


def test_no_image_holds_what_other_roles_alone_need() -> None:
    for lock in locks.files():
        assert not OTHERS.get(re.split(r"[-.]", lock)[0], set()) & locked(lock).keys(), lock


def test_only_files_for_a_gpu_hold_its_libraries() -> None:
    for lock in locks.files():
        assert any(package.startswith("nvidia-") for package in locked(lock)) == lock.endswith("-cuda.txt")


@pytest.mark.heavy
@pytest.mark.parametrize("role", CODE)
def test_what_the_code_of_a_role_imports_is_locked(role: str) -> None:
    lock = locked("guardian.txt" if role == "guardian" else f"{role}-cpu.txt")
    distributions = packages_distributions()
    for package, modules in outside(CODE[role]).items():
        here = {module for module in modules if not is_absent(module, role)}
        offered = {name(distribution) for distribution in distributions.get(package, [])}
        assert not here or offered & lock.keys(), f"{role} lacks {package}, which {sorted(here)} import"


@pytest.mark.heavy
def test_reasons_for_what_is_absent_still_hold() -> None:
    for module, role in ABSENT:
        imported = [one for modules in outside(CODE[role]).values() for one in modules]
        assert any(one == module or one.startswith(f"{module}.") for one in imported), module
