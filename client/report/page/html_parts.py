"""Pieces of a page, everything in them escaped."""

import base64
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

_STYLE = Path(__file__).with_name("style.css")


def style() -> str:
    """How pages look."""
    return _STYLE.read_text(encoding="utf-8")


def section(title: str, plots: str, rows: str) -> str:
    """A heading with plots and a table."""
    return f'<h2>{escape(title)}</h2>\n<div class="plots">{plots}</div>\n{rows}'


def figure(svg: str, caption: str) -> str:
    """A plot inline, as an image, in which nothing can run."""
    image, text = base64.b64encode(svg.encode()).decode(), escape(caption)
    return (
        f'<figure><img alt="{text}" src="data:image/svg+xml;base64,{image}">'
        f"<figcaption>{text}</figcaption></figure>\n"
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table that scrolls where it is wide."""
    body = "".join(row(cells) for cells in rows)
    return (
        f'<div class="scroll"><table><thead>{row(head, "th")}</thead>\n<tbody>{body}</tbody></table></div>\n'
    )


def tile(name: str, value: str) -> str:
    """A figure that stands out."""
    return f'<div class="tile"><b>{escape(value)}</b>{escape(name)}</div>'


def number(value: float) -> str:
    """An epsilon as people read it."""
    return f"{value:.3f}"


def share(value: float | None) -> str:
    """A metric as people read it."""
    return "-" if value is None else f"{value:.3f}"


def row(cells: Iterable[str], kind: str = "td") -> str:
    """A row of a table: of its body, or of its head where `kind` is "th"."""
    return "<tr>" + "".join(f"<{kind}>{escape(cell)}</{kind}>" for cell in cells) + "</tr>\n"
