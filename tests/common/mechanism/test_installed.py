"""Mechanisms of packages that are installed beside Ostraka, found by their entry points."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import MECHANISMS, Mechanism, known_mechanism
from ostraka.common.mechanism.arguments import make_mechanism, read_mechanism
from ostraka.common.mechanism.installed import _entry_points, entry_point_class
from ostraka.common.mechanism.mechanism import INSTALLED_MECHANISMS
from ostraka.common.mechanism.message import mechanism_message, mechanism_of
from ostraka.guardian.mechanisms import RULES, rule_of
from ostraka.guardian.mechanisms.rule import INSTALLED_RULES
from ostraka.guardian.policy import Policy

EXAMPLE = Path(__file__).parents[3] / "examples" / "noisy_max"
Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install packages into a folder of this test, as pip does: code, and a list of entry points."""
    mechanisms, rules, modules = dict(MECHANISMS), dict(RULES), set(sys.modules)
    monkeypatch.syspath_prepend(str(tmp_path))

    def installed(package: str, mechanism: str = "", rule: str = "") -> None:
        (tmp_path / f"{package}.py").write_text((EXAMPLE / "noisy_max.py").read_text())
        text = (EXAMPLE / "noisy_max_rule.py").read_text().replace("from noisy_max ", f"from {package} ")
        (tmp_path / f"{package}_rule.py").write_text(text)
        metadata = tmp_path / f"{package}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = [f"[{INSTALLED_MECHANISMS}]", mechanism, f"[{INSTALLED_RULES}]", rule]
        (metadata / "entry_points.txt").write_text("\n".join(lines))
        _entry_points.cache_clear()

    _entry_points.cache_clear()
    yield installed
    _entry_points.cache_clear()
    for registry, before in ((MECHANISMS, mechanisms), (RULES, rules)):
        registry.clear()
        registry.update(before)  # type: ignore[arg-type]
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def test_a_package_brings_a_mechanism_and_its_rule(install: Install) -> None:
    assert known_mechanism("noisy_max") is None
    install("toy", "noisy_max = toy:NoisyMax", "noisy_max = toy_rule:NoisyMaxRule")
    made = make_mechanism("noisy_max", scale=2.0)
    assert read_mechanism("noisy_max:scale=2") == made
    assert mechanism_of(mechanism_message(made)) == made
    assert type(rule_of(made)).__module__ == "toy_rule"
    assert Policy(mechanisms=("noisy_max",)).allows(made)


def test_nothing_is_imported_before_its_name_is_told(install: Install) -> None:
    install("toy", "noisy_max = toy:NoisyMax", "noisy_max = toy_rule:NoisyMaxRule")
    assert make_mechanism("gnmax", sigma=2.0)
    assert known_mechanism("other") is None
    assert not {"toy", "toy_rule"} & sys.modules.keys()


def test_a_package_cannot_replace_a_mechanism_of_ostraka(install: Install) -> None:
    known = MECHANISMS["gnmax"]
    install("toy", "gnmax = toy:NoisyMax", "gnmax = toy_rule:NoisyMaxRule")
    assert known_mechanism("gnmax") is known
    assert type(rule_of(make_mechanism("gnmax", sigma=2.0))).__module__ == "ostraka.guardian.mechanisms.gnmax"


def test_a_mechanism_without_a_rule_is_refused(install: Install) -> None:
    install("toy", "noisy_max = toy:NoisyMax")
    with pytest.raises(OstrakaError, match="registers no rule among the entry points") as found:
        rule_of(make_mechanism("noisy_max", scale=2.0))
    assert found.value.code is ErrorCode.POLICY_REFUSED


@pytest.mark.parametrize(
    ("registered", "told"),
    [
        ("noisy_max = toy:Missing", r"Toy registers toy:Missing .* cannot be imported \(AttributeError"),
        ("noisy_max = nowhere:NoisyMax", r"cannot be imported \(ModuleNotFoundError"),
        ("noisy_max = toy:Literal", "is not a Mechanism"),
        ("other_max = toy:NoisyMax", "is installed as mechanism other_max and calls itself noisy_max"),
    ],
)
def test_a_broken_package_is_named(install: Install, registered: str, told: str) -> None:
    install("toy", registered)
    with pytest.raises(OstrakaError, match=told) as found:
        known_mechanism(registered.partition(" ")[0])
    assert found.value.code is ErrorCode.CONFIG_INVALID


def test_two_packages_of_one_name_are_refused(install: Install) -> None:
    install("toy", "noisy_max = toy:NoisyMax")
    install("game", "noisy_max = game:NoisyMax")
    with pytest.raises(OstrakaError, match="Game and toy both register noisy_max") as found:
        entry_point_class(INSTALLED_MECHANISMS, "noisy_max", Mechanism)  # type: ignore[type-abstract]
    assert found.value.code is ErrorCode.CONFIG_INVALID
