"""Folders of parties without a running server."""

from pathlib import Path

from ostraka.common.config import SiteConfig, write_site


def party_folder(folder: Path, more: str = "") -> Path:
    """Return the folder of eretria in attica, whose site.toml ends with `more`; make it if it is missing."""
    folder.mkdir(exist_ok=True)
    site = SiteConfig(
        federation="attica",
        site="eretria",
        role="party",
        listen="127.0.0.1:0",
        guardian="127.0.0.1:1",
        folder=folder,
    )
    write_site(site)
    with (folder / "site.toml").open("a") as file:
        file.write(more)
    return folder
