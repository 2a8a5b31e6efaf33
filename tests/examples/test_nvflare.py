"""Answering parties serve in a job of NVFlare, each in its client's process."""

# pyright: reportMissingImports=false
# NVFlare is installed apart: its versions of gRPC and protobuf are others.

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import ostraka
from tests.deploy.whole import PARTIES, build
from tests.waiting import until

pytest.importorskip("nvflare", reason="NVFlare is no requirement: pip install nvflare")
pytestmark = pytest.mark.heavy
ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "nvflare"


def test_parties_answer_while_the_job_runs(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.examples.nvflare_job", str(tmp_path), str(EXAMPLE)]
    paths = os.pathsep.join([str(EXAMPLE), str(ROOT)])
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True
    )
    told = done.stdout + done.stderr
    assert "12 labels by 2 parties" in told, told
    assert told.count("answering at 127.0.0.1:") >= 2, told


def test_the_job_of_the_page_can_be_exported(tmp_path: Path) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "beside.md").read_text(), re.S)
    env = os.environ | {"PYTHONPATH": str(EXAMPLE)}
    done = subprocess.run(
        [sys.executable, "-c", block], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "jobs" / "answer").is_dir()


@pytest.fixture
def party(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    from answering_party import AnsweringParty

    return AnsweringParty


def executed(executor: Any, abort: Any) -> str:
    """Have an executor serve until it is aborted, and return its return code."""
    from nvflare.apis.fl_context import FLContext
    from nvflare.apis.shareable import Shareable

    data = Shareable()
    data["seconds"] = float("inf")
    return str(executor.execute("serve", data, FLContext(), abort).get_return_code())


def test_an_aborted_job_ends_it(party: Any, tmp_path: Path) -> None:
    from nvflare.apis.signal import Signal

    whole, abort = build(tmp_path), Signal()
    site = whole.folder(PARTIES[0])
    with whole.guardian(), ThreadPoolExecutor() as threads:
        serving = threads.submit(executed, party(str(site)), abort)
        until(lambda: ostraka.Party(site).status().state == "active")
        abort.trigger(True)
        assert serving.result() == "OK"


def test_a_folder_of_no_party_fails_the_task(party: Any, tmp_path: Path) -> None:
    from nvflare.apis.signal import Signal

    assert executed(party(str(tmp_path)), Signal()) == "EXECUTION_EXCEPTION"
