import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from structlog.testing import capture_logs

from ostraka.common.datasets import digits, save
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.device import Device
from ostraka.common.learning.micro_batches import MicroBatches
from ostraka.common.task import load_task
from ostraka.protos.ostraka.v1 import common_pb2
from ostraka.services.admission.policy import PartyPolicy
from ostraka.services.hosting.hosting import WARM_UP, Hosted, Hosting, Loader, Orders
from ostraka.services.hosting.prediction_thread import (
    MICRO_BATCH,
    MICRO_BATCH_ON_GPU,
    PredictionThread,
    Predictor,
)
from ostraka.services.sums.summing import Summer
from ostraka.services.teachers import TrainingConfig, train
from tests.fair_clock import HANGS_S
from tests.fake_card import GONE, FakeCards
from tests.services.wire import TEACHERS, Stop


@dataclass
class Link:
    """A guardian that takes manifests, until told to refuse."""

    manifests: list[common_pb2.Manifest] = field(default_factory=list)
    refusal: OstrakaError | None = None
    on_register: Callable[[], object] = lambda: None

    def register(self, manifest: common_pb2.Manifest, attempts: int | None = None) -> None:
        self.on_register()
        if self.refusal is not None:
            raise self.refusal
        self.manifests.append(manifest)


class Recording(PredictionThread):
    """A thread that remembers how many queries it was asked together."""

    def __init__(self) -> None:
        super().__init__(Device())
        self.sizes: list[int] = []

    def predict(
        self, model: Predictor, X: NDArray[np.float32], rows: slice, most: int = MICRO_BATCH
    ) -> NDArray[Any]:
        self.sizes.append(len(X))
        return super().predict(model, X, rows, most)


@pytest.fixture
def thread() -> Iterator[Recording]:
    with closing(Recording()) as made:
        yield made


@pytest.fixture
def loader(trained: Path, thread: Recording) -> Loader:
    return Loader(trained, "athens", load_task(trained / "task.toml"), PartyPolicy(), 1, thread)


def retrained(hosted: Hosted) -> Hosted:
    """Return the same with teachers that are declared otherwise."""
    manifest = common_pb2.Manifest()
    manifest.CopyFrom(hosted.manifest)
    manifest.training = "another way"
    return replace(hosted, manifest=manifest)


def test_teachers_are_warm_before_they_serve(loader: Loader, thread: Recording) -> None:
    assert loader.load().teachers.count == TEACHERS
    assert tuple(thread.sizes) == WARM_UP


def test_a_gpu_is_asked_about_more_queries_at_once(loader: Loader, cards: FakeCards, tmp_path: Path) -> None:
    train(digits(), loader.task, TrainingConfig(teachers=1, model="logistic", epochs=1), seed=0).save(
        tmp_path / "teachers"
    )
    on_torch = replace(loader, folder=tmp_path)
    assert on_torch.load().teachers.at_once == MICRO_BATCH
    with closing(PredictionThread(Device("cuda"))) as thread:
        assert replace(on_torch, thread=thread).load().teachers.at_once == MICRO_BATCH_ON_GPU
    assert cards.most[0]


def test_the_same_manifest_is_not_registered_again(loader: Loader) -> None:
    link = Link()
    hosting = Hosting(loader.load, link)
    hosting.register(Stop())
    first = hosting.current
    hosting.reload()
    assert hosting.current is not first
    assert link.manifests == [first.manifest]


def test_a_changed_manifest_is_registered_before_its_teachers_serve(loader: Loader) -> None:
    versions = [loader.load()]
    versions.append(retrained(versions[0]))
    serving: list[Hosted] = []
    link = Link(on_register=lambda: serving.append(hosting.current))
    hosting = Hosting(iter(versions).__next__, link)
    hosting.reload()
    assert serving == [versions[0]]
    assert hosting.current is versions[1]
    assert link.manifests == [versions[1].manifest]


@pytest.mark.parametrize(
    "error", [OstrakaError(ErrorCode.MANIFEST_INVALID, "Refused."), RuntimeError(), SystemExit(0)]
)
def test_teachers_that_the_guardian_refuses_do_not_serve(loader: Loader, error: BaseException) -> None:
    first = loader.load()
    link = Link(refusal=error)  # type: ignore[arg-type]
    hosting = Hosting(iter([first, retrained(first)]).__next__, link)
    hosting.reload()
    assert hosting.current is first


def test_broken_teachers_leave_those_from_before(loader: Loader, capsys: pytest.CaptureFixture[str]) -> None:
    first = loader.load()
    broken = replace(loader, folder=loader.folder / "nowhere")
    hosting = Hosting(chain([first], map(Loader.load, [broken])).__next__, Link())
    hosting.reload()
    assert hosting.current is first
    assert "no trained teachers" in capsys.readouterr().out


def test_teachers_are_looked_after_when_they_are_registered_and_read_again(loader: Loader) -> None:
    first = loader.load()
    second, looked_after, orders, done = retrained(first), [], Orders(), threading.Event()

    def look_after(hosted: Hosted) -> None:
        looked_after.append(hosted)
        if hosted is second:
            done.set()
        else:
            orders.put("reload")

    hosting = Hosting(iter([first, second]).__next__, Link(), look_after)
    with hosting.keep_up(orders, 0.001):
        assert done.wait(30)
    assert looked_after[0] is first


@pytest.fixture
def on_card(loader: Loader, cards: FakeCards, tmp_path: Path) -> Iterator[Loader]:
    """Yield a loader of two networks that vote on a card."""
    config = TrainingConfig(teachers=2, model="mlp", epochs=1)
    train(digits(), loader.task, config, seed=0).save(tmp_path / "teachers")
    with closing(PredictionThread(Device("cuda"))) as thread:
        yield replace(loader, folder=tmp_path, thread=thread)


@pytest.mark.parametrize("unload", [False, True])
def test_a_reload_on_a_full_card_says_so_or_unloads_first(
    on_card: Loader, cards: FakeCards, *, unload: bool
) -> None:
    device = on_card.thread.device
    link = Link()
    hosting = Hosting(
        on_card.load,
        link,
        lambda hosted: device.state.retry(hosted.probe),
        lambda hosted: hosted.make_room(device, unload=unload),
    )
    first = hosting.current
    held = cards.used[0]
    cards.memory = held + 2**14
    with capture_logs() as logs:
        hosting.reload()
    events = [log["event"] for log in logs]
    assert (hosting.current is not first) == unload
    assert ("party.no_room_beside" in events) == (not unload)
    # What did not fit is given back at once, and not when Python next looks for cycles.
    assert cards.used[0] == held
    hosting.current.probe()


def test_teachers_are_unloaded_while_a_batch_is_under_way_and_on_a_card_that_is_gone(
    on_card: Loader, cards: FakeCards
) -> None:
    hosted = on_card.load()
    held = cards.used[0]
    hosted.make_room(on_card.thread.device, unload=True)
    assert not cards.used[0]
    hosted.probe()
    assert cards.used[0] == held
    cards.failure = GONE
    hosted.make_room(on_card.thread.device, unload=True)
    hosted.make_room(on_card.thread.device, unload=False)


def test_teachers_on_a_device_that_is_gone_are_not_served(
    loader: Loader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = TrainingConfig(teachers=1, model="logistic", epochs=1)
    train(digits(), loader.task, config, seed=0).save(tmp_path / "teachers")
    on_torch = replace(loader, folder=tmp_path)
    hosted = on_torch.load()

    def dead(self: MicroBatches, work: Any, records: Any) -> Any:
        raise RuntimeError("CUDA error: unspecified launch failure")

    with monkeypatch.context() as patched:
        patched.setattr(MicroBatches, "evaluate", dead)
        for use in (on_torch.load, hosted.probe):
            with pytest.raises(OstrakaError) as refused:
                use()
            assert refused.value.code is ErrorCode.SERVER_DEVICE_GONE
    assert not on_torch.thread.device.state.works
    on_torch.thread.device.state.retry(hosted.probe)
    assert on_torch.thread.device.state.works


def test_orders_are_carried_out_and_registration_is_repeated(loader: Loader) -> None:
    versions = [loader.load()]
    versions.append(retrained(versions[0]))
    link, orders = Link(), Orders()
    again = Stop()
    link.on_register = lambda: again.set() if len(link.manifests) >= 2 else None
    hosting = Hosting(iter(versions).__next__, link)
    with hosting.keep_up(orders, 0.001):
        orders.put("reload")
        super(Stop, again).wait(HANGS_S)
    assert link.manifests[-1] == versions[1].manifest
    assert hosting.current is versions[1]


@pytest.fixture
def summing(loader: Loader, tmp_path: Path) -> Loader:
    """Return what loads teachers of a party whose policy allows sums over its records."""
    folder = tmp_path / "summing"
    shutil.copytree(loader.folder, folder)
    save(digits(), folder / "data.npz")
    (folder / "site.toml").write_text('[training]\ndata = "data.npz"\n')
    return replace(loader, folder=folder, policy=PartyPolicy(mechanisms=("votes", "sums")))


def test_records_are_read_where_they_may_be_added_up(summing: Loader) -> None:
    assert replace(summing, policy=PartyPolicy()).load().records is None
    found = summing.load().records
    assert found is not None
    assert len(found.X) == len(found.codes) == len(digits())


def test_who_names_no_records_votes_and_answers_no_sums(
    summing: Loader, capsys: pytest.CaptureFixture[str]
) -> None:
    (summing.folder / "site.toml").write_text("")
    hosted = summing.load()
    assert hosted.teachers.count == TEACHERS
    assert "party.no_records_for_sums" in capsys.readouterr().out
    unread: Any = None
    with pytest.raises(OstrakaError, match="has no records to add up") as refused:
        Summer(unread).answer(hosted, unread, b"", unread)
    assert refused.value.code is ErrorCode.POLICY_REFUSED
