"""Writes docs/errors.md from the catalogue of error codes: `python -m ostraka.deploy.error_page`."""

from pathlib import Path

from ostraka.common.error_catalogue import page
from ostraka.common.files.durable import write_atomic

FILE = Path(__file__).resolve().parents[2] / "docs" / "errors.md"

if __name__ == "__main__":
    write_atomic(FILE, page())
