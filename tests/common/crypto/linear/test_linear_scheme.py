"""Linear heads need no library for homomorphic encryption."""

import subprocess
import sys

import pytest

CHECK = """
import sys
sys.modules["tenseal"] = None
import ostraka.client.session.encrypted_voting, ostraka.common.crypto.inference
scheme = ostraka.common.crypto.inference.scheme_of("linear")
scheme.evaluator(scheme.keys().public(bytes(32)), bytes(32))
"""


@pytest.mark.heavy
def test_linear_heads_run_without_tenseal() -> None:
    ended = subprocess.run([sys.executable, "-c", CHECK], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
