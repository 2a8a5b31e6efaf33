"""A guardian whose noise cannot be trusted serves nobody."""

import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.ledger.site import LEDGER_FILE
from ostraka.guardian.noise import ExactNoise, choice, self_test
from ostraka.guardian.noise.opendp_noise import OpenDpNoise
from ostraka.guardian.noise.random_words import system_bytes
from tests.guardian.federation import Federation, refusal, unanimous


def test_a_sampler_that_fails_its_self_test_serves_nobody(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(self_test, "_KNOWN", "")
    with pytest.raises(OstrakaError, match="self-test") as refused, federation.guardian():
        raise AssertionError("it serves")
    assert refused.value.code == ErrorCode.NOISE_SELF_TEST
    assert not (federation.guardian_folder / LEDGER_FILE).exists()


def test_noise_is_drawn_by_what_site_toml_names(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    tested: list[object] = []
    monkeypatch.setattr(choice, "check_source", tested.append)
    site = federation.guardian_folder / "site.toml"
    site.write_text('noise = "opendp"\n' + site.read_text())
    with federation.guardian():
        assert [type(source) for source in tested] == [OpenDpNoise]


@pytest.mark.heavy
def test_without_entropy_nothing_is_released_or_charged(federation: Federation) -> None:
    gone = False

    def bytes_or_none(size: int) -> bytes:
        if gone:
            raise OstrakaError(ErrorCode.NOISE_NO_ENTROPY, "No bytes.")
        return system_bytes(size)

    with federation.guardian(ExactNoise(bytes_or_none)) as guardian:
        guardian.prepare_all()
        session = guardian.open().session_id
        gone = True
        guardian.ticket(session, 1, 20)
        total = guardian.vote(session, 1, unanimous(20, label=2))
        before = guardian.spent()
        assert refusal(lambda: guardian.release(session, 1, total)) == "noise.no_entropy"
        assert guardian.spent() == before
        gone = False
        assert guardian.release(session, 1, total) == [(True, 2)] * 20
