"""Files of the repository outside of `docs` that pages link to: the site has a page of each."""

import posixpath
import re
from collections.abc import Mapping
from pathlib import Path

PROTOCOL = "reference/protocol.md"
FOLDERS: Mapping[str, str] = {"ostraka/protos/ostraka/v1": PROTOCOL}
"""Pages that stand for folders."""
TEXTS: Mapping[str, str] = {
    "README.md": "project/readme.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "CHANGELOG.md": "project/changelog.md",
}
"""Pages that are not in `docs`."""
_FILES = "source/"
_TARGET = re.compile(r"(?<=\]\()(?![a-z]+:)[^)#\s]+")


def published(root: Path) -> dict[str, Path]:
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


def relinked(markdown: str, page: str, root: Path) -> str:
    """Return a page, which is at `page` in the site, with links to the pages of what it links to."""
    origin = {uri: name for name, uri in TEXTS.items()}.get(page, f"docs/{page}")
    folder = posixpath.dirname(page) or "."

    def moved(target: re.Match[str]) -> str:
        name = posixpath.normpath(posixpath.join(posixpath.dirname(origin), target[0]))
        return posixpath.relpath(_uri(name, root), folder)

    return markdown if page.startswith(_FILES) else _TARGET.sub(moved, markdown)


def _targets(markdown: str, folder: str) -> set[str]:
    return {posixpath.normpath(posixpath.join(folder, target)) for target in _TARGET.findall(markdown)}


def _uri(name: str, root: Path) -> str:
    """Return where in the site a file or folder of the repository is, or would be."""
    if name.startswith("docs/"):
        return name.removeprefix("docs/")
    known = TEXTS.get(name) or FOLDERS.get(name)
    return known or (f"{_FILES}{name}.md" if (root / name).is_file() else name)
