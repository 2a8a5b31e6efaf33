"""Diagrams of the documentation, drawn when the site is built, so that no browser loads a script for them."""

import base64
import html
import re
from typing import Any

import mermaidx
from pymdownx.superfences import SuperFencesException


def draw_mermaid(source: str, language: str, css_class: str, options: Any, md: Any, **kwargs: Any) -> str:
    """Return the picture of a Mermaid diagram, in the interface of `pymdownx.superfences`.

    Raises:
        SuperFencesException: Mermaid cannot read the diagram; the build ends with its message.
    """
    try:
        svg: str = mermaidx.render(source).svg()
    except RuntimeError as error:
        raise SuperFencesException(f"A diagram cannot be drawn: {error}\n{source}") from error
    picture = base64.b64encode(_of_its_size(svg).encode()).decode()
    image = f'<img alt="{html.escape(source)}" src="data:image/svg+xml;base64,{picture}">'
    return f'<div class="diagram">{image}</div>'


def _of_its_size(svg: str) -> str:
    """Return a picture with its own width; otherwise it would be as wide as its page."""
    return re.sub(r'width="100%"(.*?viewBox="\S+ \S+ (\S+) \S+")', r'width="\2"\1', svg, count=1)
