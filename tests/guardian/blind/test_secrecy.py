"""What the guardian receives in a blind tally tells it nothing of the votes, and it keeps none of it."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ostraka.common.crypto.tally_circuits import querying_words
from ostraka.common.mechanism import Confident, GnMax
from ostraka.common.sharing.fixed_point import encode
from ostraka.guardian.blind.blind_tally import BlindTally, Stage
from ostraka.guardian.blind.circuit_inputs import Words
from tests.guardian.blind.querying import ANSWERS, RING, Querying, asked, blind_plan
from tests.guardian.federation import Calls, Federation, unanimous

QUERIES = 64
Z = 6.6
"""Two-sided p of 4e-11, for up to 25 tests at once."""
PLANS = [
    blind_plan(mechanism=GnMax(sigma=1.0), queries=QUERIES, batch_size=QUERIES),
    blind_plan(
        mechanism=Confident(sigma1=1.0, sigma2=1.0, threshold=15.0), queries=QUERIES, batch_size=QUERIES
    ),
]


def assert_fair(bits: NDArray[np.uint8]) -> None:
    """Each column of `bits` (draws, columns) has as many ones as coins would."""
    draws, columns = bits.shape
    assert columns <= 40
    off = np.abs(bits.sum(axis=0) - draws / 2) / np.sqrt(draws / 4)
    assert (off < Z).all(), off.max()


def bits_of(values: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """Return the bits of each value, (values, 32)."""
    return np.unpackbits(values.astype("<u4").reshape(-1, 1).view(np.uint8), axis=1, bitorder="little")


class Overheard(Querying):
    """Keeps the messages that the guardian gets."""

    def begin(self, stage: Any, point: bytes) -> bytes:
        self.kept("point", point)
        return super().begin(stage, point)

    def garble(self, stage: Any, extension: bytes) -> bytes:
        self.kept("extension", extension)
        return super().garble(stage, extension)

    def compare(self, stage: Any, correction: bytes) -> bytes:
        self.kept("correction", correction)
        return super().compare(stage, correction)

    def open_check(self, returned: bytes) -> NDArray[np.bool_]:
        self.kept("returned", returned)
        return super().open_check(returned)

    def kept(self, kind: str, message: bytes) -> None:
        self.__dict__.setdefault("messages", {}).setdefault(kind, []).append(message)


def overheard(guardian: Calls, plan: Any, label: int) -> Overheard:
    """Run a whole tally of queries on which everybody votes for `label`, and keep its messages."""
    asking = asked(guardian, plan, unanimous(QUERIES, label))
    querying = Overheard(guardian, plan, asking.session, 1, asking.sums)
    querying.answers(querying.check() if plan is PLANS[1] else None)
    return querying


@pytest.mark.heavy
@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.mechanism.kind)
@pytest.mark.parametrize("label", [0, 3])
def test_what_is_received_is_uniform_whatever_the_votes(guardian: Calls, plan: Any, label: int) -> None:
    """A simulator sends coins: alone, and next to the guardian's own half, these are what arrives."""
    querying = overheard(guardian, plan, label)
    total = encode(unanimous(QUERIES, label).sum(axis=0), RING)
    half = querying_words(total - querying.sums, querying.circuit(ANSWERS)).astype(np.uint32)
    messages = querying.__dict__["messages"]
    for correction in messages["correction"]:
        moved = np.frombuffer(correction, "<u4").reshape(half.shape)
        for seen in (moved, moved + half, moved - half):
            assert_fair(bits_of(seen.astype(np.uint32)))
    for extension in messages["extension"]:
        assert_fair(np.unpackbits(np.frombuffer(extension, np.uint8)).reshape(-1, 8))


@pytest.mark.heavy
def test_messages_have_one_size_whatever_the_votes(guardian: Calls) -> None:
    sizes = []
    for label in (0, 3):
        plan = PLANS[1].model_copy(update={"nonce": bytes([label]) * 16})
        asking = asked(guardian, plan, unanimous(QUERIES, label))
        querying = Overheard(guardian, plan, asking.session, 1, asking.sums)
        querying.answers(querying.check())
        sizes.append({kind: [len(m) for m in sent] for kind, sent in querying.__dict__["messages"].items()})
    assert sizes[0] == sizes[1]
    assert sizes[0].keys() == {"point", "extension", "correction", "returned"}


@pytest.mark.heavy
def test_neither_ledger_nor_log_nor_text_has_a_vote(
    federation: Federation, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    words: list[Words] = []
    tallies: list[BlindTally] = []
    made, begun = Stage.__init__, BlindTally.begin

    def make(stage: Stage, circuit: Any, own: Words, *rest: Any) -> None:
        words.append(own)
        made(stage, circuit, own, *rest)

    def begin(tally: BlindTally, stage: Any) -> Stage:
        tallies.append(tally)
        return begun(tally, stage)

    monkeypatch.setattr(Stage, "__init__", make)
    monkeypatch.setattr(BlindTally, "begin", begin)
    votes = np.random.default_rng(3).integers(0, 11, (3, QUERIES, 4))
    with federation.guardian() as guardian:
        guardian.prepare_all(1e6)
        querying = asked(guardian, PLANS[1], votes)
        labels = querying.answers(querying.check())
        guardian.settle(querying.session, 1)
    assert len(words) == 2
    total = encode(votes.sum(axis=0), RING)
    secrets = [total, querying.sums, total - querying.sums, *words]
    fours = [secret.reshape(-1, 4) if secret.size % 4 == 0 else secret.reshape(1, -1) for secret in secrets]
    rows = [row for four in fours for row in four]
    # A few labels, such as 3, 0, 0, 0, stand in every file by chance; all of them do not.
    assert labels.size > 16
    rows.append(labels.astype(np.uint64))
    needles = {row.astype(kind).tobytes() for row in rows for kind in ("<u4", ">u4", "<u8", ">u8")}
    needles |= {str(value).encode() for row in rows for value in row.tolist() if value > 10**8}
    told = "".join(map(repr, [*tallies, *tallies[0].stages.values()]))
    written = capfd.readouterr()
    text = (told + written.out + written.err).encode()
    dumps = [path.read_bytes() for path in federation.guardian_folder.rglob("*") if path.is_file()]
    for dump in [text, *dumps]:
        assert not [needle for needle in needles if any(needle) and needle in dump]
