import re
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer
from pydantic import BaseModel, BeforeValidator, Field, model_validator
from typer.testing import CliRunner, Result

from ostraka.common.console.options import KEY, FileContent, OverridesOf, SettingsFile, model_options
from ostraka.common.errors import ErrorCode, OstrakaError


def names(value: Any) -> Any:
    return tuple(value.split(",")) if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(names)]


class Fruit(BaseModel):
    kind: Literal["apple", "pear"] = Field(default="apple", description="Which fruit.")
    weight_g: float | None = Field(default=None, description="Its weight.")
    pieces: int = Field(ge=1, le=9, description="How many.")
    ripe: bool = Field(default=False, description="Whether it is ripe.")
    eaters: Names | None = Field(default=None, description="Who eats it, as a,b,c.")

    @model_validator(mode="after")
    def _pears_are_weighed(self) -> "Fruit":
        if self.kind == "pear" and self.weight_g is None:
            raise ValueError("pears are sold by weight")
        return self


class Shop(BaseModel):
    name: str = Field(default="corner", description="Its name.", min_length=2)


def word(content: bytes, name: str) -> str:
    return f"{content.decode()} of {name}"


class Order(BaseModel):
    customer: Annotated[str, typer.Argument(metavar="WHO", help="Who orders.")]
    wishes: Annotated[str, FileContent(word)] = Field(description="A file of wishes.")


def buy(*arguments: str) -> tuple[Result, list[Any]]:
    app = typer.Typer(add_completion=False)
    got: list[Any] = []

    @app.command()
    @model_options
    def command(*, out: Annotated[str, typer.Option("--out")] = "-", fruit: Fruit, shop: Shop) -> None:
        got.extend((out, fruit, shop))

    return CliRunner().invoke(app, arguments, env={"COLUMNS": "200", "NO_COLOR": "1"}), got


def override(*arguments: str) -> tuple[Result, list[Any]]:
    app = typer.Typer(add_completion=False)
    got: list[Any] = []

    @app.command()
    @model_options
    def command(given: Annotated[dict[str, Any], OverridesOf(Fruit)]) -> None:
        got.append(given)

    return CliRunner().invoke(app, arguments, env={"COLUMNS": "200", "NO_COLOR": "1"}), got


def order(*arguments: str) -> tuple[Result, list[Any]]:
    app = typer.Typer(add_completion=False)
    got: list[Any] = []

    @app.command()
    @model_options
    def command(order: Order) -> None:
        got.append(order)

    return CliRunner().invoke(app, arguments, env={"COLUMNS": "200", "NO_COLOR": "1"}), got


def test_options_make_an_instance_of_each_model() -> None:
    given = ("--kind", "pear", "--weight-g", "90.5", "--pieces", "3", "--ripe", "--eaters", "a,b")
    result, got = buy(*given, "--name", "stall", "--out", "here")
    assert result.exit_code == 0, result.output
    fruit = Fruit(kind="pear", weight_g=90.5, pieces=3, ripe=True, eaters=("a", "b"))
    assert got == ["here", fruit, Shop(name="stall")]


def test_options_that_are_not_given_have_the_defaults_of_their_fields() -> None:
    result, got = buy("--pieces", "1")
    assert result.exit_code == 0, result.output
    assert got == ["-", Fruit(pieces=1), Shop()]


def test_help_shows_description_choices_range_and_default() -> None:
    lines = [line for line in buy("--help")[0].output.splitlines() if "--" in line]
    shown = {line.split("--")[1].split()[0]: line for line in lines}
    assert list(shown) == ["out", "kind", "weight-g", "pieces", "ripe", "eaters", "name", "help"]
    for part in ("apple|pear", "Which fruit.", "[default: apple]"):
        assert part in shown["kind"]
    for part in ("1<=x<=9", "How many.", "[required]"):
        assert part in shown["pieces"]
    assert "--no-ripe" in shown["ripe"]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((), "--pieces"),
        (("--pieces", "10"), "--pieces"),
        (("--pieces", "1", "--kind", "plum"), "--kind"),
        (("--pieces", "1", "--name", "x"), "--name"),
        (("--pieces", "1", "--kind", "pear"), "pears are sold by weight"),
    ],
)
def test_what_a_model_refuses_is_a_usage_error(arguments: tuple[str, ...], named: str) -> None:
    result, got = buy(*arguments)
    assert (result.exit_code, got) == (2, [])
    assert named in result.output


def test_overrides_are_what_was_given_unchecked() -> None:
    result, got = override("--kind", "plum", "--pieces", "10", "--ripe", "--eaters", "a,b")
    assert result.exit_code == 0, result.output
    assert got == [{"kind": "plum", "pieces": 10, "ripe": True, "eaters": "a,b"}]
    assert override()[1] == [{}]


def test_flags_of_overrides_can_only_be_set() -> None:
    assert override("--no-ripe")[0].exit_code == 2


def test_two_models_with_the_same_field_are_a_mistake() -> None:
    def command(first: Shop, second: Shop) -> None: ...

    with pytest.raises(ValueError, match="duplicate parameter name"):
        model_options(command)


def test_a_field_may_be_an_argument_or_the_content_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "wishes.txt"
    path.write_text("pears")
    result, got = order("Ada", "--wishes", str(path))
    assert result.exit_code == 0, result.output
    assert got == [Order(customer="Ada", wishes=f"pears of {path}")]
    shown = " ".join(order("--help")[0].output.split())
    for part in ("WHO", "Who orders.", "--wishes", "<path>", "A file of wishes."):
        assert part in shown
    assert "--customer" not in shown


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    refused = order("Ada", "--wishes", str(tmp_path / "none"))[0].exception
    assert isinstance(refused, OstrakaError)
    assert (refused.code, "none" in refused.message) == ("data.missing", True)


class Basket(BaseModel):
    kind: Literal["wicker", "paper"] = Field(default="wicker", description="Which.")
    pieces: int = Field(description="How many.")
    owners: Names | None = Field(default=None, description="Whose, as a,b.")
    handles: Annotated[int, KEY] = Field(default=2, ge=0, description="How many to hold it by.")
    lined: Annotated[bool, KEY] = Field(default=False, description="Whether it is lined.")


def carry(*arguments: object) -> tuple[Result, list[Any]]:
    """Run a command with a settings file; return what it got."""
    app = typer.Typer(add_completion=False)
    got: list[Any] = []

    @app.command()
    @model_options
    def command(*, basket: Basket, settings: SettingsFile = None) -> None:
        got.extend((basket, settings))

    return CliRunner().invoke(app, [str(one) for one in arguments]), got


def test_a_settings_file_gives_options_and_keys_and_options_override_it(tmp_path: Path) -> None:
    file = tmp_path / "basket.toml"
    file.write_text('pieces = 4\nkind = "paper"\nowners = ["a", "b"]\nhandles = 1\n')
    result, got = carry("--settings", file)
    assert result.exit_code == 0, result.output
    assert got == [Basket(kind="paper", pieces=4, owners=("a", "b"), handles=1), file]
    assert carry("--settings", file, "--pieces", 9)[1][0].pieces == 9
    assert carry("--pieces", 9)[1] == [Basket(pieces=9), None]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("handels = 1", r"no such key handels \(did you mean handles\?\)"),
        ("handles = -1", "Key handles of the settings file: must be 0 or more, is -1"),
        ("[kind]", "kind must be one value, not a table"),
        ("pieces", "correct it"),
        ('settings = "other.toml"', "no such key settings"),
    ],
)
def test_what_a_settings_file_cannot_say_is_refused(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "basket.toml"
    file.write_text(text)
    error = carry("--settings", file, "--pieces", 1)[0].exception
    assert isinstance(error, OstrakaError)
    assert error.code is ErrorCode.CONFIG_INVALID
    assert re.search(told, error.message), error.message


def test_a_wrong_value_for_an_option_or_a_file_that_is_missing_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "basket.toml"
    file.write_text('pieces = "many"')
    result, got = carry("--settings", file)
    assert (result.exit_code, got) == (2, [])
    assert "--pieces" in result.output
    error = carry("--settings", tmp_path / "none.toml")[0].exception
    assert isinstance(error, OstrakaError)
    assert "give --settings an existing file" in error.message


def test_keys_are_no_options_and_help_all_shows_them() -> None:
    assert carry("--pieces", 1, "--handles", 3)[0].exit_code == 2
    assert "handles" not in carry("--help")[0].stdout
    shown = " ".join(carry("--help-all")[0].stdout.split())
    assert "How many to hold it by. [default: 2]" in shown
    assert "Whether it is lined. [default: false]" in shown
