"""Teachers of scikit-learn are trained, kept and asked without torch, whose import takes seconds."""

import subprocess
import sys
from pathlib import Path

import pytest

USED = """
import sys
from pathlib import Path
from ostraka.common.task import infer_task
from ostraka.services.teachers import Ensemble, TrainingConfig, train
from tests.services.teachers.conftest import blobs

folder, records = Path(sys.argv[1]), blobs(60)
task = infer_task(records, "blobs")
for model in ("logistic_regression", "random_forest"):
    train(records, task, TrainingConfig(teachers=2, model=model), seed=1).save(folder / model)
    Ensemble.load(folder / model).predict(task.prepare(records.X))
assert "torch" not in sys.modules

import sklearn.externals.array_api_compat.torch  # which is hidden from nobody but skops
"""


@pytest.mark.heavy
def test_estimators_need_no_torch(tmp_path: Path) -> None:
    used = subprocess.run([sys.executable, "-c", USED, str(tmp_path)], capture_output=True, text=True)
    assert used.returncode == 0, used.stderr
