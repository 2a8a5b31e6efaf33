"""What others wrote stays text on every page, and a value that is missing is not an empty page."""

import base64
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from ostraka.common.page.templates import environment, render

EVIL = "</td><script>alert('x')</script>\" onload=\""
PAGE = """{% extends "report.html" %}
{% import "macros.html" as macros %}
{% block sections %}
{{ macros.plots([(svg, evil)]) }}
{{ macros.table((evil,), [(evil,)]) }}
{% endblock %}
"""


@pytest.fixture
def template(tmp_path: Path) -> Path:
    path = tmp_path / "page.html"
    path.write_text(PAGE)
    return path


def test_every_place_of_the_shared_templates_escapes(template: Path) -> None:
    given = dict.fromkeys(("title", "summary", "note", "evil"), EVIL)
    page = render(template, **given, tiles=[(EVIL, EVIL)], svg=f"<svg>{EVIL}</svg>")
    assert "<script" not in page
    assert ' onload="' not in page
    assert page.count("&lt;script&gt;") == 10
    image = page.partition("base64,")[2].partition('"')[0]
    assert base64.b64decode(image).decode() == f"<svg>{EVIL}</svg>"


def test_a_value_that_is_missing_is_an_error(template: Path) -> None:
    with pytest.raises(UndefinedError, match="title"):
        render(template, summary="")


def test_templates_of_a_folder_use_its_filters(tmp_path: Path) -> None:
    (tmp_path / "one.html").write_text("{{ name|loud }}")
    found = environment(tmp_path, loud=str.upper)
    assert found.get_template("one.html").render(name="<b>") == "&lt;B&gt;"
