import pytest

from benchmarks import two_batches


@pytest.mark.heavy
def test_sessions_with_one_and_two_open_batches_are_compared(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {"PARTIES": 2, "QUERIES": {5: 10}, "REPEATS": 1, "ELSEWHERE_S": (0.01,)}.items():
        monkeypatch.setattr(two_batches, name, value)
    two_batches.main()
    told = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0].strip() for line in told[1:]] == [
        "votes take 0.01 s elsewhere",
        "one open",
        "two open",
        "batches of 5",
    ]
