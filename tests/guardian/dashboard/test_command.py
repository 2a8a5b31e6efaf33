"""`ostraka guardian console` as a process."""

from pathlib import Path

import httpx

from ostraka.deploy.simulation.processes import ChildCommand, Start, Supervisor

READY_S = 120.0


def test_it_tells_its_url_serves_and_stops(folder: Path, tmp_path: Path, start: Start) -> None:
    ready = tmp_path / "ready.json"
    words = ["guardian", "console", "--site", folder, "--listen", "127.0.0.1:0", "--ready-file", ready]
    with Supervisor(tmp_path / "logs", start=start) as processes:
        child = processes.start(ChildCommand("console", [str(word) for word in words]))
        address = processes.wait_ready(child, ready, READY_S)
        (said,) = [line for line in child.log.read_text().splitlines() if line.startswith("Open http")]
        url = httpx.URL(said.removeprefix("Open "))
        assert url.netloc.decode() == address
        assert address.startswith("127.0.0.1:")
        assert "read-only" in httpx.get(url, follow_redirects=True).text
        assert httpx.get(url.join("/")).status_code == 401
        processes.end(child)
    assert child.log.read_text().count(url.params["token"]) == 1
