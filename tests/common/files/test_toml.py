"""TOML beyond limits is told in a sentence, whoever reads it."""

from pathlib import Path

import pytest

from ostraka.client.run.dependency_rules import load_dependencies
from ostraka.common.config import load_site
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files import toml
from ostraka.common.files.toml import TomlError, parse_toml, read_toml
from ostraka.common.task import load_task
from ostraka.deploy.provisioning.federation_file import load_federation
from ostraka.deploy.simulation.settings_file import load_settings
from ostraka.guardian.policy import parse_policy

BEYOND = {
    "x = " + "[" * 5000: "nested too deeply",
    "x = " + "[" * 20 + "]" * 20: "nested too deeply",
    "x." * 5000 + "x = 1": "nested too deeply",
    "x = " + "9" * 5000: "number of too many digits",
    "x = " + "9" * 4000: "number of more than 64 bits",
    "x = 9223372036854775808": "number of more than 64 bits",
    'x = "' + "a" * 20_001 + '"': "20000 characters",
    "a" * 20_001 + " = 1": "20000 characters",
    "x = [" + "1," * 100_001 + "]": "100000 entries",
    'x = "\x00"': "is not TOML",
    "x = 1\nx = 2": "is not TOML",
}


@pytest.mark.heavy
@pytest.mark.parametrize(("text", "problem"), BEYOND.items(), ids=range(len(BEYOND)))
def test_what_is_no_toml_or_beyond_a_limit_is_said(text: str, problem: str) -> None:
    with pytest.raises(TomlError, match=problem):
        parse_toml(text)


def test_a_file_of_bytes_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "file.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(TomlError, match="is not valid TOML: it is not UTF-8"):
        read_toml(tmp_path / "file.toml")


@pytest.mark.parametrize(
    ("value", "told"),
    [("[" * 5000, "nested too deeply"), ("9" * 5000, "too many digits"), ("9" * 4000, "more than 64 bits")],
    ids=["deep", "long", "large"],
)
def test_every_reader_refuses_with_its_code(tmp_path: Path, value: str, told: str) -> None:
    text = f"x = {value}"
    path = tmp_path / "site.toml"
    path.write_text(text)
    readers = {
        "config.invalid": (
            lambda: load_site(tmp_path),
            lambda: load_task(path),
            lambda: load_federation(path),
            lambda: load_settings(path, {}),
            lambda: load_dependencies(path),
        ),
        "policy.invalid": (lambda: parse_policy(text),),
    }
    for code, each in readers.items():
        for read in each:
            with pytest.raises(OstrakaError, match=told) as refusal:
                read()
            assert refusal.value.code is ErrorCode(code)


@pytest.mark.parametrize(
    ("limit", "most", "fits", "beyond"),
    [
        ("MAX_CHARACTERS", 7, "x = 100", "x = 1000"),
        ("MAX_TEXT", 3, 'x = "abc"', 'x = "abcd"'),
        ("MAX_TEXT", 3, "abc = 1", "abcd = 1"),
        ("MAX_ENTRIES", 2, "x = [1, 2]", "x = [1, 2, 3]"),
        ("MAX_ENTRIES", 2, "x = 1\ny = 1", "x = 1\ny = 1\nz = 1"),
        ("DEEPEST", 3, "x = [[1]]", "x = [[[1]]]"),
    ],
)
def test_a_file_goes_to_a_limit_and_not_beyond(
    limit: str, most: int, fits: str, beyond: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toml, limit, most)
    path = tmp_path / "some.toml"
    path.write_text(fits)
    assert read_toml(path) == parse_toml(fits)
    path.write_text(beyond)
    told = f"more than {most} |nested too deeply"
    with pytest.raises(TomlError, match=told):
        read_toml(path)
    with pytest.raises(TomlError, match=told):
        parse_toml(beyond)
