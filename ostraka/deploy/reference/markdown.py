"""Markdown: tables, and links to files outside of `docs`, which have pages on the site."""

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

PROTOCOL = "reference/protocol.md"
FOLDERS: Mapping[str, str] = {"ostraka/protos/ostraka/v1": PROTOCOL}
"""Pages that represent folders."""
TEXTS: Mapping[str, str] = {
    "README.md": "project/readme.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "CHANGELOG.md": "project/changelog.md",
    "SUPPORT.md": "project/support.md",
    "RELEASING.md": "project/releasing.md",
}
"""Pages outside of `docs`."""
_FILES = "source/"
_TARGET = re.compile(r"(?<=\]\()(?![a-z]+:)[^)#\s]+")


def files_with_pages(root: Path) -> dict[str, Path]:
    """Return the files with a page, by the page's place: the texts, and all files that pages link to."""
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
    """Return a file as a page: Markdown unchanged, anything else as code that searches leave out."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return text
    language = path.suffix.removeprefix(".")
    return f"---\nsearch:\n  exclude: true\n---\n# {path.name}\n\n``` {language}\n{text}\n```\n"


def relink(markdown: str, page: str, root: Path) -> str:
    """Return the page at `page` in the site, with its links redirected to the targets' pages."""
    origin = {uri: name for name, uri in TEXTS.items()}.get(page, f"docs/{page}")
    folder = posixpath.dirname(page) or "."

    def move(target: re.Match[str]) -> str:
        name = posixpath.normpath(posixpath.join(posixpath.dirname(origin), target[0]))
        return posixpath.relpath(_uri(name, root), folder)

    return markdown if page.startswith(_FILES) else _TARGET.sub(move, markdown)


def _targets(markdown: str, folder: str) -> set[str]:
    return {posixpath.normpath(posixpath.join(folder, target)) for target in _TARGET.findall(markdown)}


def _uri(name: str, root: Path) -> str:
    """Return the place in the site of a file or folder of the repository, existing or not."""
    if name.startswith("docs/"):
        return name.removeprefix("docs/")
    known = TEXTS.get(name) or FOLDERS.get(name)
    return known or (f"{_FILES}{name}.md" if (root / name).is_file() else name)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table, followed by an empty line; cells are Markdown already (`cell`)."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def cell(text: str) -> str:
    """Return a text as the content of a cell, on one line."""
    return plain(" ".join(text.split())).replace("|", "\\|")


def plain(text: str) -> str:
    """Return a text that Markdown shows unchanged; text between backticks becomes code."""
    pieces = text.split("`")
    pieces[::2] = [piece.replace("<", "&lt;").replace("*", "\\*") for piece in pieces[::2]]
    return "`".join(pieces)
