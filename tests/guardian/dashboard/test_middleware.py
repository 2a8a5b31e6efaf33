"""What holds for every request: host, origin, secret of forms, size, headers, escaping."""

import re
import socket
from typing import Any

import pytest
import structlog

from ostraka.guardian.dashboard.access import COOKIE
from ostraka.guardian.dashboard.audit_views import MAX_HEADS
from ostraka.guardian.dashboard.change_views import MAX_VALUE_CHARS
from ostraka.guardian.dashboard.console_server import MAX_HEADERS_BYTES
from ostraka.guardian.dashboard.middleware import MAX_BODY_BYTES
from tests.fair_clock import HANGS_S
from tests.guardian.dashboard.browsing import Browser, hidden, problem
from tests.guardian.federation import Calls

UNIT: dict[str, Any] = {"party": "a", "group": "all", "adjacency": "record"}
HOSTILE = "<img src=x onerror=alert(1)>\"'"


def test_another_host_name_is_refused(reader: Browser) -> None:
    port = reader.origin.rpartition(":")[2]
    assert reader.client.get("/", headers={"host": f"localhost:{port}"}).status_code == 200
    for host in (f"evil.example:{port}", "127.0.0.1", "127.0.0.1:1", ""):
        assert reader.client.get("/", headers={"host": host}).status_code == 421


def test_a_form_of_another_origin_is_refused(editor: Browser) -> None:
    data = {"csrf": editor.csrf(), "reason": "no", "epsilon": "1", **UNIT}
    assert editor.client.post("/change/budget", data=data).status_code == 403
    for origin in (
        "null",
        "http://evil.example",
        "https://127.0.0.1",
        editor.origin.replace("http", "https"),
    ):
        answer = editor.client.post("/change/budget", data=data, headers={"origin": origin})
        assert answer.status_code == 403


def test_a_form_without_its_secret_is_refused(editor: Browser, guardian: Calls) -> None:
    for path in ("/change/budget", "/change/budget/apply", "/audit/verify", "/leave"):
        for csrf in ("", "0" * 64, "é"):
            answer = editor.client.post(path, data={"csrf": csrf}, headers={"origin": editor.origin})
            assert answer.status_code == 403
            assert "not made by this console for you" in problem(answer.text)
    assert guardian.budgets("a")["all"].epsilon == 1000


def test_another_visitors_secret_is_refused(editor: Browser) -> None:
    before = editor.csrf()
    editor.client.cookies.clear()
    editor.text("/", 401)
    editor.enter()
    assert editor.csrf() != before
    headers = {"origin": editor.origin}
    assert editor.client.post("/audit/verify", data={"csrf": before}, headers=headers).status_code == 403


@pytest.mark.heavy
def test_a_console_that_reads_changes_nothing(reader: Browser, guardian: Calls) -> None:
    values = {"reason": "because", "epsilon": "1", "seen": "", **UNIT}
    for path in ("/change/budget", "/change/budget/apply", "/change/remove/apply"):
        assert "--allow-changes" in problem(reader.post(path, 403, **values).text)
    assert reader.client.get("/change/budget").status_code == 403
    assert guardian.budgets("a")["all"].epsilon == 1000
    assert "/change/" not in reader.text("/") + reader.text("/party/a") + reader.text("/policy")


def test_other_methods_are_refused(editor: Browser) -> None:
    for method in ("PUT", "DELETE", "OPTIONS", "TRACE"):
        assert editor.client.request(method, "/").status_code == 405


def test_a_body_that_is_too_large_is_refused(editor: Browser) -> None:
    large = b"--b\r\ncontent-disposition: form-data; name=x; filename=y\r\n\r\n" + bytes(MAX_BODY_BYTES)
    headers = {"origin": editor.origin, "content-type": "multipart/form-data; boundary=b"}
    for body in (large, iter([large])):
        answer = editor.client.post("/change/grant", content=body, headers=headers)
        assert answer.status_code == 413
        assert "1 MiB" in answer.text


def test_headers_that_do_not_end_are_read_up_to_a_limit(reader: Browser) -> None:
    host = reader.origin.removeprefix("http://")
    begun = f"GET /static/console.js HTTP/1.1\r\nhost: {host}\r\nx: ".encode()
    for length, end, status in (
        (MAX_HEADERS_BYTES, b"\r\n\r\n", b"200"),
        (MAX_HEADERS_BYTES + 1, b"", b"400"),
    ):
        name, _, port = host.rpartition(":")
        with socket.create_connection((name, int(port)), HANGS_S) as connection:
            connection.sendall(begun.ljust(length, b"x"))
            connection.sendall(end)
            assert connection.recv(12) == b"HTTP/1.1 " + status


def test_a_value_of_a_form_has_so_many_bytes_and_no_more(editor: Browser) -> None:
    for length, told in (
        (MAX_VALUE_CHARS, "must be one line of 1 to"),
        (MAX_VALUE_CHARS + 1, "Part exceeded"),
    ):
        sent = {"csrf": (None, editor.csrf()), "reason": (None, "x" * length)}
        sent |= {name: (None, value) for name, value in {**UNIT, "epsilon": "1"}.items()}
        headers = {"origin": editor.origin}
        answer = editor.client.post("/change/budget", files=sent, headers=headers)
        assert answer.status_code == 400
        assert told in answer.text


def test_so_many_heads_are_taken_and_no_more(reader: Browser) -> None:
    for count, told in ((MAX_HEADS, "is not an audit head"), (MAX_HEADS + 1, "Too many files")):
        heads = [("heads", (f"{number}.pb", b"\xff\xff")) for number in range(count)]
        headers = {"origin": reader.origin}
        answer = reader.client.post(
            "/audit/verify", data={"csrf": reader.csrf()}, files=heads, headers=headers
        )
        assert answer.status_code == 400
        assert told in answer.text


def test_every_answer_has_the_headers(reader: Browser) -> None:
    for path in ("/", "/nothing", "/static/console.js", "/downloads/report.html", "/enter", "/party/none"):
        headers = reader.client.get(path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "same-origin"
        assert "server" not in headers


@pytest.mark.heavy
def test_no_page_has_inline_script_or_style(editor: Browser) -> None:
    for path in ("/", "/party/a", "/sessions", "/policy", "/audit", "/downloads", "/change/budget"):
        page = editor.text(path)
        assert not re.search(r"<style|<script(?! src=\"/static/)|\sstyle=|\son\w+=", page)


@pytest.mark.heavy
def test_what_people_write_is_escaped_everywhere(editor: Browser, guardian: Calls) -> None:
    guardian.budget("a", 7, group=HOSTILE, reason=HOSTILE)
    guardian.register("a", training=HOSTILE)
    unit: dict[str, Any] = {"party": "a", "group": HOSTILE, "adjacency": "record"}
    form = editor.client.get("/change/freeze", params=unit).text
    shown = editor.post("/change/freeze", reason=HOSTILE, **unit).text
    refused = editor.post("/change/budget", 400, reason=HOSTILE, epsilon=HOSTILE, **unit).text
    pages = [editor.text(path) for path in ("/", "/party/a", "/policy", "/audit", "/downloads")]
    for page in (form, shown, refused, *pages):
        assert "<img src=x" not in page
    assert sum("&lt;img src=x" in page for page in (form, shown, refused, *pages)) >= 7
    assert hidden(shown)["reason"] == HOSTILE
    assert "&lt;img" in editor.client.get(f"/party/{HOSTILE.replace('/', '')}").text


@pytest.mark.heavy
def test_a_page_that_is_not_there(reader: Browser) -> None:
    for path in ("/nothing", "/party/none", "/session/none", "/static/../app.py", "/static/%2e%2e/app.py"):
        assert reader.client.get(path).status_code == 404


@pytest.mark.heavy
def test_neither_tokens_nor_secrets_are_logged(editor: Browser) -> None:
    with structlog.testing.capture_logs() as logged:
        editor.change("freeze", "a secret reason", **UNIT)
        editor.client.cookies.clear()
        editor.text("/", 401)
        editor.enter()
    said = str(logged)
    assert "console.changed" in said
    assert editor.client.cookies[COOKIE] not in said
    for secret in (editor.csrf(), editor.urls[-1].partition("=")[2], "a secret reason"):
        assert secret not in said
