from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from ostraka.common.validation import MAX_SHOWN, OneOf, first_problem, problem_text


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid")

    port: Annotated[int, Field(ge=1)] = 1
    names: tuple[int, ...] = ()

    @field_validator("port")
    @classmethod
    def _even(cls, port: int) -> int:
        if port % 2 == 0:
            raise ValueError("write an odd port.")
        return port


@pytest.mark.parametrize(
    ("values", "table", "told"),
    [
        ({"prot": 1}, "", "prot: there is no such key; correct it"),
        ({"prot": 1}, "party", "party.prot: there is no such key"),
        ({"port": 0}, "", "port: must be 1 or more, is 0; correct it"),
        ({"port": 2}, "", "port: write an odd port; correct it"),
        ({"names": [1, "x"]}, "", "names, entry 2: must be a whole number, is 'x'; correct it"),
    ],
)
def test_the_first_problem_is_told_in_the_words_of_people(
    values: dict[str, object], table: str, told: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate(values)
    assert first_problem(caught.value, table).startswith(told)
    assert not first_problem(caught.value, table).endswith(".")


def test_a_key_that_is_close_to_a_known_one_is_suggested() -> None:
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate({"prot": 1})
    said = first_problem(caught.value, known=Settings.model_fields)
    assert said == "prot: there is no such key (did you mean port?); correct it"


def test_a_value_is_shown_in_so_many_characters_or_not() -> None:
    def told(length: int) -> str:
        with pytest.raises(ValidationError) as caught:
            Settings.model_validate({"port": "x" * length})
        return first_problem(caught.value)

    quotes = len(repr(""))
    assert f"is '{'x' * (MAX_SHOWN - quotes)}'" in told(MAX_SHOWN - quotes)
    assert "is too long to show" in told(MAX_SHOWN - quotes + 1)


def test_names_that_code_makes_are_choices_as_those_of_a_literal() -> None:
    names = OneOf(("red", "green", "blue"))
    made, literal = TypeAdapter(Annotated[str, names]), TypeAdapter(Literal["red", "green", "blue"])
    assert made.json_schema() == literal.json_schema()
    assert made.validate_python("green") == "green"
    with pytest.raises(ValidationError) as refused:
        made.validate_python("grey")
    assert problem_text(refused.value.errors()[0]) == "must be 'red', 'green' or 'blue', is 'grey'"
    assert str(names) == "red, green or blue"
