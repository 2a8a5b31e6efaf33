import numpy as np
import pytest

from benchmarks.serving import vote_path
from benchmarks.serving.resnet18 import resnet18
from benchmarks.serving.vote_path import Case, VotePath, vote_paths, vote_table
from ostraka.deploy.simulation.processes import Start

CASE = Case("small", "logistic", (4, 4), repeats=1, sessions=2, size=5, batches=3)


def test_votes_are_compared_with_the_forward_pass_and_with_the_ensemble() -> None:
    one = VotePath(CASE, 0.5, 0.4, 0.8, concurrent_rows_s=2000.0, p50_s=0.1, p99_s=0.2)
    cells = [next(iter(column.cells)) for column in vote_table([one]).columns]
    assert cells == [
        "small",
        "2,000",
        "2,500",
        "1,250",
        "0.62",
        "0.50",
        "2 x 5",
        "2,000",
        "1.00",
        "100",
        "200",
    ]


@pytest.mark.heavy
def test_a_party_is_asked_over_the_wire(monkeypatch: pytest.MonkeyPatch, start: Start) -> None:
    monkeypatch.setattr(vote_path, "BATCH", 8)
    (one,) = vote_paths([CASE], start)
    assert one.case == CASE
    assert min(one.forward_s, one.ensemble_s, one.vote_s) > 0
    assert 0 < one.p50_s <= one.p99_s
    assert one.concurrent_rows_s > 0


def test_the_large_model_is_as_large_as_resnet_18() -> None:
    net = resnet18((3, 32, 32), 10)
    weights = sum(int(np.prod(tensor.shape)) for tensor in net.parameters())
    assert weights == 11_173_962
