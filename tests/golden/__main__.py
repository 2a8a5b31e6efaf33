"""`python -m tests.golden` writes the golden files of versions that have none yet, and changes no other."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.golden.writing import FILES, WRITERS

for name, write in WRITERS.items():
    if not (FILES / name).exists():
        with TemporaryDirectory() as scratch:
            made = Path(scratch, "made")
            made.mkdir()
            write(made, Path(scratch))
            shutil.copytree(made, FILES / name)
        print(FILES / name)
