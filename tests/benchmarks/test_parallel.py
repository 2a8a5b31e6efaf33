import pytest

from benchmarks.confidential import parallel


@pytest.mark.heavy
def test_each_kind_of_work_is_measured_in_each_way(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(parallel, "REPEATS", 1)
    monkeypatch.setattr(parallel, "BALLOTS", 8)
    monkeypatch.setattr(
        parallel,
        "HEADS",
        {"linear": (1, (parallel.FEATURES, 2)), "square-mlp": (1, (parallel.FEATURES, 2, 2))},
    )
    parallel.main()
    _, garbled, evaluated, _, by_a_party = capsys.readouterr().out.splitlines()
    assert garbled.startswith("2 times 8 ballots garbled: ")
    assert evaluated.startswith("2 times 1 linear heads evaluated: ")
    assert all("two threads" in line and "two processes" in line for line in (garbled, evaluated))
    assert by_a_party.startswith("2 square-mlp heads by a party: ")
