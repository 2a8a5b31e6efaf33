"""A clone is installed from where pip looks for packages, or says that it cannot reach it."""

import subprocess
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from ostraka.deploy import install
from ostraka.deploy.install import TORCH_CPU_INDEX, main, uv_settings


def test_uv_looks_where_pip_does() -> None:
    pip = {
        "index-url": "https://mirror.example/simple",
        "extra-index-url": "file:///more\nfile:///most",
        "find-links": "/wheels\n/others",
        "constraint": "/a.txt\n/b.txt",
        "cert": "/ca.crt",
        "timeout": "180",
    }
    found = uv_settings(pip, {})
    assert found["UV_DEFAULT_INDEX"] == "https://mirror.example/simple"
    assert found["UV_INDEX"].split() == ["file:///more", "file:///most"]
    assert found["UV_FIND_LINKS"] == "/wheels,/others"
    assert found["UV_CONSTRAINT"] == "/a.txt /b.txt"
    assert found["SSL_CERT_FILE"] == "/ca.crt"


@pytest.mark.parametrize(
    ("pip", "environment", "index"),
    [
        ({}, {}, TORCH_CPU_INDEX),
        ({"cert": "/ca.crt"}, {}, TORCH_CPU_INDEX),
        ({"find-links": "/wheels"}, {}, None),
        ({}, {"UV_DEFAULT_INDEX": "https://mirror.example/simple"}, None),
        ({}, {"TORCH_INDEX": ""}, None),
        ({"index-url": "https://a"}, {"TORCH_INDEX": "https://b"}, "https://b"),
    ],
)
def test_torch_is_for_cpus_where_nobody_names_another_index(
    pip: dict[str, str], environment: dict[str, str], index: str | None
) -> None:
    assert uv_settings(pip, environment).get("UV_INDEX") == index


def test_variables_of_uv_come_first() -> None:
    assert "UV_INDEX" not in uv_settings({"extra-index-url": "file:///more"}, {"UV_INDEX": "file:///mine"})


def test_settings_of_pip_come_from_its_variables_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "https://mirror.example/simple")
    assert install.pip_settings()["index-url"] == "https://mirror.example/simple"


class Missing(BaseHTTPRequestHandler):
    """An index that answers, if only that there is nothing."""

    def do_GET(self) -> None:
        """Answer."""
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.mark.parametrize("reached", [True, False])
def test_a_machine_that_reaches_no_index_is_told_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], reached: bool
) -> None:
    server = HTTPServer(("127.0.0.1", 0), Missing)
    port = server.server_port
    if reached:
        Thread(target=server.handle_request, daemon=True).start()
    else:
        server.server_close()
    monkeypatch.setattr(install, "pip_settings", lambda: {"index-url": f"http://127.0.0.1:{port}/simple"})
    monkeypatch.setattr(subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 2))
    assert main("dev") == 1
    said = capsys.readouterr().out
    assert said.startswith("Installing what the extra 'dev'")
    assert ("cannot reach the package index http://127.0.0.1" in said) == (not reached)
    server.server_close()
