"""Markdown: tables, and links to files outside of `docs`, of each of which the site has a page."""

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

PROTOCOL = "reference/protocol.md"
FOLDERS: Mapping[str, str] = {"ostraka/protos/ostraka/v1": PROTOCOL}
"""Pages that stand for folders."""
TEXTS: Mapping[str, str] = {
    "README.md": "project/readme.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "CHANGELOG.md": "project/changelog.md",
    "SUPPORT.md": "project/support.md",
    "RELEASING.md": "project/releasing.md",
}
"""Pages that are not in `docs`."""
_FILES = "source/"
_TARGET = re.compile(r"(?<=\]\()(?![a-z]+:)[^)#\s]+")


def files_with_pages(root: Path) -> dict[str, Path]:
    """Return the files that have a page, by where it is: the texts, and what any page links to."""
    pages = {f"docs/{path.relative_to(root / 'docs')}": path for path in (root / "docs").rglob("*.md")}
    pages |= {name: root / name for name in TEXTS}
    linked = {
        target: root / target
        for name, path in pages.items()
        for target in _targets(path.read_text(encoding="utf-8"), posixpath.dirname(name))
    }
    wanted = {
        _uri(name, root): path for name, path in (linked | {name: root / name for name in TEXTS}).items()
    }
    return {uri: path for uri, path in wanted.items() if uri.startswith((_FILES, "project/"))}


def page_of(path: Path) -> str:
    """Return a file as a page: Markdown as it is, anything else as code that searches leave out."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return text
    language = path.suffix.removeprefix(".")
    return f"---\nsearch:\n  exclude: true\n---\n# {path.name}\n\n``` {language}\n{text}\n```\n"


def relink(markdown: str, page: str, root: Path) -> str:
    """Return a page, which is at `page` in the site, with links to the pages of what it links to."""
    origin = {uri: name for name, uri in TEXTS.items()}.get(page, f"docs/{page}")
    folder = posixpath.dirname(page) or "."

    def move(target: re.Match[str]) -> str:
        name = posixpath.normpath(posixpath.join(posixpath.dirname(origin), target[0]))
        return posixpath.relpath(_uri(name, root), folder)

    return markdown if page.startswith(_FILES) else _TARGET.sub(move, markdown)


def _targets(markdown: str, folder: str) -> set[str]:
    return {posixpath.normpath(posixpath.join(folder, target)) for target in _TARGET.findall(markdown)}


def _uri(name: str, root: Path) -> str:
    """Return where in the site a file or folder of the repository is, or would be."""
    if name.startswith("docs/"):
        return name.removeprefix("docs/")
    known = TEXTS.get(name) or FOLDERS.get(name)
    return known or (f"{_FILES}{name}.md" if (root / name).is_file() else name)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table, and an empty line after it; cells are Markdown already (`cell`)."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def cell(text: str) -> str:
    """Return a text as the content of a cell, on one line."""
    return plain(" ".join(text.split())).replace("|", "\\|")


def plain(text: str) -> str:
    """Return a text so that Markdown shows it as it is; what stands between backticks becomes code."""
    pieces = text.split("`")
    pieces[::2] = [piece.replace("<", "&lt;").replace("*", "\\*") for piece in pieces[::2]]
    return "`".join(pieces)
