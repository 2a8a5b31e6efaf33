"""Hooks of mkdocs: pages generated from code, and files outside of `docs`."""

from importlib.metadata import version
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from ostraka.deploy.reference import command_page, protocol_page, settings_pages
from ostraka.deploy.reference.markdown import PROTOCOL, files_with_pages, page_of, relink

_ICON = "ostraka/guardian/dashboard/static/icon.svg"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the version to the foot of every page."""
    config.copyright = f"Ostraka {version('ostraka')}"
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, and pages of repository files that other pages link to."""
    root = Path(config.docs_dir).parent
    made = {
        "reference/every-command.md": command_page.page(),
        PROTOCOL: protocol_page.page(),
        **{f"reference/{name}": text for name, text in settings_pages.pages().items()},
        **{uri: page_of(path) for uri, path in files_with_pages(root).items()},
    }
    for uri, text in made.items():
        files.append(File.generated(config, uri, content=text))
    files.append(File.generated(config, "assets/icon.svg", abs_src_path=str(root / _ICON)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Any) -> str:
    """Redirect links to repository files to their pages."""
    return relink(markdown, page.file.src_uri, Path(config.docs_dir).parent)
