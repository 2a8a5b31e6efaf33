"""A language server, started as by an editor, that returns where names are defined."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

SERVER = Path(sys.executable).with_name("pyright-langserver")


class LanguageServer:
    """One process of pyright's language server; calls wait for their answers."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._numbers = count(1)

    def open(self, file: Path) -> None:
        """Tell the server that an editor shows a file."""
        document = {"uri": file.as_uri(), "languageId": "python", "version": 1, "text": file.read_text()}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def definition(self, file: Path, line: int, character: int) -> list[tuple[Path, int]]:
        """Return the files and lines that define the name at a line and a character, all counted from 0."""
        position = {"line": line, "character": character}
        found = self.call(
            "textDocument/definition", {"textDocument": {"uri": file.as_uri()}, "position": position}
        )
        return [(_path(one["uri"]), one["range"]["start"]["line"]) for one in found or []]

    def call(self, method: str, parameters: object) -> Any:
        """Return the result of a request; requests from the server meanwhile are answered with nothing."""
        number = next(self._numbers)
        self._send({"id": number, "method": method, "params": parameters})
        while True:
            message = self._read()
            if message.get("id") == number and "method" not in message:
                return message.get("result")
            if "id" in message and "method" in message:
                items = message.get("params", {}).get("items", [])
                self._send({"id": message["id"], "result": [None] * len(items) or None})

    def notify(self, method: str, parameters: object) -> None:
        """Send the server a notification."""
        self._send({"method": method, "params": parameters})

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._process.stdin.flush()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        length = 0
        while (line := self._process.stdout.readline().strip()) or not length:
            assert self._process.poll() is None, "the language server ended"
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        message: dict[str, Any] = json.loads(self._process.stdout.read(length))
        return message


@contextmanager
def serving(root: Path) -> Iterator[LanguageServer]:
    """Run a server for the folder that an editor opened."""
    with subprocess.Popen(
        [SERVER, "--stdio"],
        cwd=root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            server = LanguageServer(process)
            folders = [{"uri": root.as_uri(), "name": root.name}]
            server.call(
                "initialize",
                {
                    "processId": None,
                    "rootUri": root.as_uri(),
                    "workspaceFolders": folders,
                    "capabilities": {},
                },
            )
            server.notify("initialized", {})
            yield server
        finally:
            process.kill()


def _path(uri: str) -> Path:
    return Path(unquote(urlparse(uri).path))
