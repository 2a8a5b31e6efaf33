import pytest

from tests.skips import skip_or_fail


@pytest.mark.parametrize(
    ("no_skip", "outcome"), [("", pytest.skip.Exception), ("1", pytest.fail.Exception)], ids=["skip", "fail"]
)
def test_what_cannot_be_had_fails_where_nothing_may_be_skipped(
    monkeypatch: pytest.MonkeyPatch, no_skip: str, outcome: type[BaseException]
) -> None:
    monkeypatch.setenv("OSTRAKA_NO_SKIP", no_skip)
    with pytest.raises(outcome, match="no helm"):
        skip_or_fail("no helm")
