"""`ostraka guardian console` as a process."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import httpx


def test_it_tells_its_url_serves_and_stops(folder: Path, tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    words = ["guardian", "console", "--site", folder, "--listen", "127.0.0.1:0", "--ready-file", ready]
    process = subprocess.Popen(
        [sys.executable, "-m", "deploy.cli", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        said = process.stdout.readline().strip()
        assert said.startswith("Open http://127.0.0.1:")
        url = httpx.URL(said.removeprefix("Open "))
        assert "read-only" in httpx.get(url, follow_redirects=True).text
        assert httpx.get(url.join("/")).status_code == 401
    finally:
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert url.params["token"] not in err
    assert json.loads(ready.read_text())["address"] == url.netloc.decode()
