"""Generate the committed protocol stubs; run as `make protos`."""

import sys
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

PACKAGE_ROOT = Path(__file__).resolve().parents[1]
"""The folder `ostraka`: stubs register their definitions by their path from here."""
SOURCES = "protos/ostraka/v1"
PACKAGE = "protos.ostraka.v1"
"""protoc's name of the package, by its folder; it is imported from `ostraka`."""


def generate(out: Path, root: Path = PACKAGE_ROOT) -> None:
    """Write the Python stubs and their types for every .proto file below `root` into `out`.

    Raises:
        RuntimeError: protoc refused a file.
    """
    from grpc_tools import protoc

    names = sorted(str(p.relative_to(root)) for p in (root / SOURCES).glob("*.proto"))
    places = [f"--proto_path={root}", f"--proto_path={files('grpc_tools') / '_proto'}"]
    places += [f"--plugin={plugin}" for plugin in Path(sys.executable).parent.glob("protoc-gen-*")]
    with TemporaryDirectory() as folder:
        targets = [f"--{name}_out={folder}" for name in ("python", "pyi", "grpc_python", "mypy_grpc")]
        if protoc.main(["protoc", *places, *targets, *names]) != 0:
            raise RuntimeError("protoc refused the definitions; its message is above.")
        for stub in Path(folder, SOURCES).iterdir():
            target = out / SOURCES / stub.name
            target.parent.mkdir(parents=True, exist_ok=True)
            text = stub.read_text(encoding="utf-8")
            target.write_text(text.replace(PACKAGE, f"ostraka.{PACKAGE}"), encoding="utf-8")


if __name__ == "__main__":
    generate(Path(sys.argv[1]) if len(sys.argv) > 1 else PACKAGE_ROOT)
