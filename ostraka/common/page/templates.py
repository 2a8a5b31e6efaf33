"""The environment of all pages: every value in a template is escaped."""

import base64
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

SHARED = Path(__file__).parent


def environment(folder: Path, **filters: Callable[..., Any]) -> "Environment":
    """Return the templates of `folder` and the shared ones; an undefined name is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader([folder, SHARED]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= filters | {"image": image}
    return made


def render(template: Path, /, **values: Any) -> str:
    """Render a template with `values`; it may use templates of its own folder and the shared ones."""
    return environment(template.parent).get_template(template.name).render(values)


def image(svg: str) -> str:
    """Return a plot as the source of an inline image, in which no script can run."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"
