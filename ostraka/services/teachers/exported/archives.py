"""Files of torch.export and TorchScript, read so that nothing in them is a pickle or runs but its model.

`torch.export.load` unpickles, evaluates text as Python and calls whatever function of torch a file names, so
it is given another archive, made of what was found harmless here. This filter is no sandbox: what is left is
a program of torch's operations, and whoever made the file decides what it computes.
"""

import re
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_STORED, BadZipFile, ZipFile

from ostraka.common.files.archives import check_members
from ostraka.services.teachers.exported.programs import MODEL, HarmfulError, harmless_program

ROOT = "archive"
_SCRIPT = re.compile(r"code/.+\.py|data\.pkl|constants\.pkl|(data|constants)/\d+|(\.data/)?version|byteorder")
"""Members of a TorchScript archive that loading needs; its data.pkl is no pickle that Python would run."""
_BLANKS = rb"(?:\s|\\|#[^\n]*\n)*"
_REACHES_OUT = re.compile(
    rb"\b(save|from_file|rpc_\w+)\b|\bops\b(?!\.(aten|prim|prims)\.)"
    rb"|getattr(?!\([\w.]+, \"[^\"'\\]+\"\))"
    rb"|(?<!\Wself)\." + _BLANKS + rb"classes\b|\btorch\nclasses\b|\"classes\"|\bself" + _BLANKS + rb"=(?!=)"
)
"""What in a TorchScript archive writes or reads files, calls other machines or is no plain operation; and
names put together from parts, which would not be found. `torch.classes` holds what others registered: blanks
and comments may stand before the name, and no other object than a module itself may have such an attribute.
"""
_CODE = re.compile(r"[^/]+/code/")
_DAMAGE = (OSError, BadZipFile, ValueError, KeyError, TypeError, IndexError, RuntimeError, MemoryError)


class Archive:
    """A file that may be loaded.

    Attributes:
        script: whether it is TorchScript; else an exported program.
    """

    def __init__(self, members: Mapping[str, bytes], *, script: bool) -> None:
        """Take the archive's members by name."""
        self.script = script
        self._members = members

    @classmethod
    def read(cls, path: Path) -> "Archive":
        """Read what is harmless in a file; raise HarmfulError, in words that name no path."""
        try:
            members = _members(path)
            if MODEL in members:
                return cls(harmless_program(members), script=False)
            return cls(_harmless_script(members), script=True)
        except HarmfulError:
            raise
        except _DAMAGE as exc:
            raise HarmfulError("is no file of torch.export or TorchScript") from exc

    def opened(self) -> BytesIO:
        """Return a new archive of the members, as torch reads it."""
        packed = BytesIO()
        with ZipFile(packed, "w", ZIP_STORED) as archive:
            for name, content in self._members.items():
                archive.writestr(f"{ROOT}/{name}", content)
        packed.seek(0)
        return packed


def _members(path: Path) -> dict[str, bytes]:
    """Contents by name below the archive's one folder."""
    with ZipFile(path) as archive:
        packed = (member.filename for member in archive.infolist() if member.compress_type != ZIP_STORED)
        if not all(_CODE.match(name) for name in packed):
            raise HarmfulError("holds compressed members, which torch does not write but for code")
        check_members(archive, path.stat().st_size)
        return {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}


def _harmless_script(members: Mapping[str, bytes]) -> dict[str, bytes]:
    if not any(name.startswith("code/") for name in members):
        raise HarmfulError("holds a pickle and no exported model")
    kept = {name: content for name, content in members.items() if _SCRIPT.fullmatch(name)}
    texts = (content for name, content in kept.items() if name.endswith((".py", ".pkl")))
    if any(_REACHES_OUT.search(text) for text in texts):
        raise HarmfulError("uses operations that read or write files, call others or are no part of torch")
    return kept
