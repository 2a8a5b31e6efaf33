"""Teachers that were trained elsewhere, and come as files of torch.export or TorchScript."""

import contextlib
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from ostraka.common.datasets import Dataset
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task import Task, infer_task
from ostraka.services.teachers import Ensemble, TeachersManifest, TrainingConfig, train
from ostraka.services.teachers.exported.archives import MODEL
from ostraka.services.teachers.exported.models import Exported, host
from ostraka.services.teachers.guard import VoteGuard
from ostraka.services.teachers.networks import mlp, resnet
from tests.services.conftest import symptoms
from tests.services.teachers.conftest import blobs

SHAPE, CLASSES = (8, 8), 3
KINDS = ("export", "script", "trace")


def write(
    net: nn.Module,
    path: Path,
    kind: str = "export",
    shape: tuple[int, ...] = SHAPE,
    *,
    training: bool = False,
) -> Path:
    """Write a file as other programs write it."""
    net.train(training)
    example = torch.zeros(2, *shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "export":
            some = ({0: torch.export.Dim.DYNAMIC},)
            torch.export.save(torch.export.export(net, (example,), dynamic_shapes=some), path)
        else:
            jit: Any = torch.jit
            script = jit.script(net) if kind == "script" else jit.trace(net, example, check_trace=False)
            jit.save(script, path)
    return path


@pytest.fixture(scope="module")
def data() -> Dataset:
    return blobs(60, shape=SHAPE)


@pytest.fixture(scope="module")
def task(data: Dataset) -> Task:
    return infer_task(data, "images")


@pytest.fixture(scope="module")
def nets() -> list[nn.Module]:
    torch.manual_seed(0)
    return [mlp(SHAPE, CLASSES), resnet(SHAPE, CLASSES), mlp(SHAPE, CLASSES)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, nets: list[nn.Module]) -> Path:
    """Return a site folder with one model of each kind."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "models").mkdir()
    for row, (net, kind) in enumerate(zip(nets, KINDS, strict=True)):
        write(net, folder / "models" / f"{row}.pt2", kind)
    return folder


def hosted(data: Dataset, task: Task, folder: Path, **more: object) -> Ensemble:
    config = TrainingConfig.model_validate({"model": "file:models"} | more)
    return host(data, task, config, folder=folder)


def refusal(work: Callable[[], object], code: ErrorCode = ErrorCode.MODEL_INVALID) -> str:
    with pytest.raises(OstrakaError) as refused:
        work()
    assert refused.value.code is code
    return refused.value.message


@pytest.mark.heavy
def test_every_kind_votes_as_its_network_and_is_kept(
    data: Dataset, task: Task, site: Path, nets: list[nn.Module], tmp_path: Path
) -> None:
    ensemble = hosted(data, task, site)
    X = np.random.default_rng(0).normal(size=(301, 64)).astype(np.float32)
    votes = ensemble.predict(X)
    with torch.no_grad():
        expected = [net(torch.from_numpy(X).reshape(-1, *SHAPE)).argmax(dim=1).numpy() for net in nets]
    assert np.array_equal(votes, expected)
    assert np.array_equal(ensemble.predict(X, slice(1, 2)), votes[1:2])
    ensemble.save(tmp_path / "teachers")
    loaded = Ensemble.load(tmp_path / "teachers")
    assert np.array_equal(loaded.predict(X), votes)
    assert loaded.manifest == ensemble.manifest
    assert (loaded.manifest.library, loaded.manifest.model) == ("exported", "file:models")
    assert len(set(loaded.manifest.files)) == 3
    (group,) = loaded.manifest.groups
    assert (group.records, group.teachers, group.copies) == (60, 3, 1)


def test_one_file_is_one_teacher(data: Dataset, task: Task, site: Path) -> None:
    assert hosted(data, task, site, model="file:models/1.pt2").predict(data.X).shape == (1, 60)
    assert hosted(data, task, site, model=f"file:{site}/models/1.pt2").manifest.teachers == 1


def test_a_file_that_changed_since_is_refused(data: Dataset, task: Task, site: Path, tmp_path: Path) -> None:
    folder = tmp_path / "teachers"
    hosted(data, task, site).save(folder)
    (folder / "model-0001.pt2").replace(folder / "model-0002.pt2")
    assert "model-0001" in refusal(lambda: Ensemble.load(folder))
    (folder / "model-0001.pt2").write_bytes((folder / "model-0000.pt2").read_bytes())
    assert "damaged" in refusal(lambda: Ensemble.load(folder))


def test_a_manifest_names_every_file(data: Dataset, task: Task, site: Path, tmp_path: Path) -> None:
    manifest = hosted(data, task, site).manifest
    manifest.model_copy(update={"files": manifest.files[:2]}).save(tmp_path)
    assert [file.stat().st_mode & 0o777 for file in tmp_path.glob("manifest.json")] == [0o600]
    refusal(lambda: TeachersManifest.load(tmp_path))


def test_labels_are_scored_by_their_logits_and_thresholds_tuned_on_public_records(tmp_path: Path) -> None:
    both = symptoms(200)
    records, public = both.take(slice(100)), both.take(slice(100, 200))
    task = infer_task(both, "symptoms")
    net = nn.Linear(6, 5)
    write(net, tmp_path / "one.pt2", shape=(6,))
    config = TrainingConfig(model="file:one.pt2")
    X = task.prepare(records.X)
    scores = host(records, task, config, folder=tmp_path).predict(X)
    with torch.no_grad():
        np.testing.assert_allclose(scores[0], torch.sigmoid(net(torch.from_numpy(X))).numpy(), atol=1e-6)
    tuned = config.model_copy(update={"thresholds": "per_label"})
    ensemble = host(records, task, tuned, folder=tmp_path, public=public)
    assert ensemble.thresholds is not None
    np.testing.assert_array_equal(
        ensemble.predict(X) >= 0.5, scores >= ensemble.thresholds.values[:, None].astype(np.float32)
    )
    for on in (None, both.take(slice(99, 200))):
        told = refusal(
            lambda on=on: host(records, task, tuned, folder=tmp_path, public=on),  # type: ignore[misc]
            ErrorCode.CONFIG_INVALID,
        )
        assert "threshold_data" in told


class Broken(nn.Module):
    """Logits that are not numbers where a record's first value is negative."""

    def forward(self, X: Tensor) -> Tensor:
        return X.flatten(1)[:, :3] + X[:, :1, 0].sqrt()


class Attention(nn.Module):
    """Sizes that are products of the number of records, and operations with words for arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.rows, self.classes = nn.Linear(8, 16), nn.Linear(16, CLASSES)

    def forward(self, X: Tensor) -> Tensor:
        rows = self.rows(X).reshape(X.shape[0], 8, 2, 8).transpose(1, 2)
        alike = torch.einsum("bhid,bhjd->bhij", rows, rows).softmax(-1)
        seen = (alike @ rows).transpose(1, 2).reshape(X.shape[0] * 8, 16)
        logits: Tensor = self.classes(nn.functional.gelu(seen, approximate="tanh"))
        return logits.view(X.shape[0], 8, -1).mean(1)


class Recurrent(nn.Module):
    """Batch normalisation, dropout, a cell that goes along the rows."""

    def __init__(self) -> None:
        super().__init__()
        self.rows, self.normal = nn.LSTM(8, 16, batch_first=True), nn.BatchNorm1d(16)
        self.classes = nn.Sequential(nn.Dropout(0.5), nn.Linear(16, CLASSES))

    def forward(self, X: Tensor) -> Tensor:
        logits: Tensor = self.classes(self.normal(self.rows(X)[0][:, -1]))
        return logits


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["export", "script"])
@pytest.mark.parametrize("architecture", [Attention, Recurrent])
def test_architectures_of_others_vote_as_they_do(
    architecture: type[nn.Module], kind: str, tmp_path: Path
) -> None:
    net = architecture().eval()
    X = np.random.default_rng(0).normal(size=(150, 64)).astype(np.float32)
    with torch.no_grad():
        expected = net(torch.from_numpy(X).reshape(-1, *SHAPE)).argmax(dim=1).numpy()
    model = Exported([write(net, tmp_path / "one.pt2", kind)], SHAPE, CLASSES)
    assert np.array_equal(model.predict(X, VoteGuard(CLASSES))[0], expected)


@pytest.mark.parametrize("kind", ["export", "script"])
def test_logits_that_are_no_numbers_vote_for_the_fixed_class(kind: str, tmp_path: Path) -> None:
    model = Exported([write(Broken(), tmp_path / "one.pt2", kind)], SHAPE, CLASSES)
    X = np.zeros((4, 64), np.float32)
    X[:, 1] = 1
    X[2, 0] = -1
    assert model.predict(X, VoteGuard(CLASSES)).tolist() == [[1, 1, 0, 1]]


def test_one_size_of_batch_is_not_enough(tmp_path: Path) -> None:
    program = torch.export.export(mlp(SHAPE, CLASSES).eval(), (torch.zeros(2, *SHAPE),))
    torch.export.save(program, tmp_path / "two.pt2")
    assert "dynamic" in refusal(lambda: Exported([tmp_path / "two.pt2"], SHAPE, CLASSES))


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["export", "trace"])
@pytest.mark.parametrize("layer", [nn.BatchNorm1d(256), nn.Dropout(0.5)])
def test_models_left_in_training_mode_are_refused(layer: nn.Module, kind: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Flatten(), nn.Linear(64, 256), layer, nn.ReLU(), nn.Linear(256, CLASSES))
    Exported([write(net, tmp_path / "ready.pt2", kind)], SHAPE, CLASSES)
    path = write(net, tmp_path / "model.pt2", kind, training=True)
    assert "other logits" in refusal(lambda: Exported([path], SHAPE, CLASSES))


@pytest.mark.parametrize("kind", ["export", "script"])
def test_other_classes_or_records_than_the_tasks_are_refused(kind: str, tmp_path: Path) -> None:
    path = write(mlp(SHAPE, 4), tmp_path / "one.pt2", kind)
    assert "3 classes" in refusal(lambda: Exported([path], SHAPE, CLASSES))
    assert "records of shape (5, 5)" in refusal(lambda: Exported([path], (5, 5), 4))


@pytest.mark.parametrize("setting", [{"epochs": 3}, {"variant": "vanishing"}, {"held_out": 0.1}])
def test_settings_of_training_are_refused(
    data: Dataset, task: Task, site: Path, setting: dict[str, object]
) -> None:
    told = refusal(lambda: hosted(data, task, site, **setting), ErrorCode.CONFIG_INVALID)
    assert next(iter(setting)) in told


def test_what_is_hosted_is_not_trained(data: Dataset, task: Task) -> None:
    told = refusal(lambda: train(data, task, TrainingConfig(model="file:models"), seed=0))
    assert "not trained" in told


def test_fewer_records_than_models_are_refused(task: Task, site: Path) -> None:
    refusal(lambda: hosted(blobs(2, shape=SHAPE), task, site), ErrorCode.DATA_TOO_FEW)


def test_files_that_are_not_there_are_named(data: Dataset, task: Task, tmp_path: Path) -> None:
    assert "models cannot be read" in refusal(lambda: hosted(data, task, tmp_path))
    (tmp_path / "models").mkdir()
    assert "without files" in refusal(lambda: hosted(data, task, tmp_path))


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04", b"\x80\x04N.", None], ids=["empty", "cut", "pickle", "state"]
)
def test_files_that_are_no_exported_model_are_refused(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "one.pt2"
    if content is None:
        torch.save(mlp(SHAPE, CLASSES), path)
    else:
        path.write_bytes(content)
    refusal(lambda: Exported([path], SHAPE, CLASSES))


def altered(path: Path, change: Callable[[str, bytes], bytes], **more: bytes) -> Path:
    """Rewrite an archive with `change` made to every member."""
    with ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    root = next(iter(members)).partition("/")[0]
    with ZipFile(path, "w", ZIP_STORED) as archive:
        for name, content in members.items():
            archive.writestr(name, change(name.partition("/")[2], content))
        for name, content in more.items():
            archive.writestr(f"{root}/{name}", content)
    return path


ATTACK = "__import__('pathlib').Path({mark!r}).touch()"


def symbols(text: str, attack: str) -> str:
    found = json.loads(text)
    found["graph_module"]["graph"]["tensor_values"]["flatten"]["sizes"][0]["as_expr"]["expr_str"] = attack
    return json.dumps(found)


def called(text: str, attack: str) -> str:
    return text.replace("torch.ops.aten.relu.default", "torch.os.system")


def handed(text: str, attack: str) -> str:
    """Make a graph call `os.system` by way of `operator.call`."""
    found = json.loads(text)
    for node in found["graph_module"]["graph"]["nodes"]:
        if "relu" in node["target"]:
            node["target"] = "_operator.call"
            system = {"name": "", "arg": {"as_operator": "torch.os.system"}, "kind": 1}
            node["inputs"] = [system, {"name": "", "arg": {"as_string": "true"}, "kind": 1}]
    return json.dumps(found)


def passed(text: str, attack: str) -> str:
    return handed(text, attack).replace("_operator.call", "_operator.getitem")


def inner(text: str, attack: str) -> str:
    return text.replace("torch.ops.aten.relu.default", "torch.ops.aten.__dict__.clear")


def reading(text: str, attack: str) -> str:
    return text.replace("torch.ops.aten.relu.default", "torch.ops.aten.from_file.default")


def named(text: str, attack: str) -> str:
    return text.replace('"input"', json.dumps(f"input=({attack})"))


def typed(text: str, attack: str) -> str:
    return text.replace("builtins.tuple", "builtins.object")


@pytest.mark.parametrize("change", [symbols, called, handed, passed, inner, reading, named, typed])
def test_a_program_with_more_than_operations_on_tensors_is_refused_and_not_run(
    change: Callable[[str, str], str], tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    attack = ATTACK.format(mark=str(mark))

    def alter(name: str, content: bytes) -> bytes:
        if name != MODEL:
            return content
        changed = change(content.decode(), attack)
        assert changed != content.decode()
        return changed.encode()

    path = altered(write(mlp(SHAPE, CLASSES), tmp_path / "one.pt2"), alter)
    assert "more than operations" in refusal(lambda: Exported([path], SHAPE, CLASSES))
    assert not mark.exists()


class Touch:
    """A pickle of this makes a file."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return Path.touch, (self.mark,)


def test_text_to_execute_and_pickles_of_samples_are_left_out(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    torch.save(Touch(mark), tmp_path / "touch.pt")
    evil = (tmp_path / "touch.pt").read_bytes()

    def alter(name: str, content: bytes) -> bytes:
        if name.startswith("data/sample_inputs"):
            return evil
        guards = json.dumps([ATTACK.format(mark=str(mark))])
        return content.replace(b'"guards_code": []', b'"guards_code": ' + guards.encode())

    path = altered(write(mlp(SHAPE, CLASSES), tmp_path / "one.pt2"), alter, **{"data/weights/model.pt": evil})
    model = Exported([path], SHAPE, CLASSES)
    assert model.predict(np.zeros((2, 64), np.float32), VoteGuard(CLASSES)).shape == (1, 2)
    assert not mark.exists()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(Exception):
            torch.export.load(path)
    assert mark.exists(), "torch itself runs what was left out"


def test_pickled_weights_are_refused(tmp_path: Path) -> None:
    path = altered(
        write(mlp(SHAPE, CLASSES), tmp_path / "one.pt2"),
        lambda _, content: content.replace(b'"use_pickle": false', b'"use_pickle": true'),
    )
    assert "pickles" in refusal(lambda: Exported([path], SHAPE, CLASSES))


class Writes(nn.Module):
    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path

    def forward(self, X: Tensor) -> Tensor:
        torch.save(X, self.path)
        return X.flatten(1)[:, :3]


def test_a_script_that_writes_files_is_refused_and_not_run(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    path = write(Writes(str(mark)), tmp_path / "one.pt", "script")
    assert "read or write files" in refusal(lambda: Exported([path], SHAPE, CLASSES))
    assert not mark.exists()


HIDDEN = {
    "save": 'torch.save(X, "mark")',
    "parts": 'getattr(torch, "sa" "ve")(X, "mark")',
    "escaped": 'getattr(torch, "\\x73ave")(X, "mark")',
    "spaced": 'ops . debugprims . load_tensor("mark", [1], [1])',
    "mapped": 'torch.from_file("mark", True, 4)',
    "class": "__torch__.torch.classes.profiling.SourceStats()",
    "class after a blank": "__torch__.torch .classes.profiling.SourceStats()",
    "class of another name": "x = __torch__.torch\n    x.classes.profiling.SourceStats()",
    "class of a module renamed": "self = __torch__.torch\n    self.classes.profiling.SourceStats()",
    "class by getattr": 'getattr(__torch__.torch, "classes").profiling.SourceStats()',
    "class after a comment": "(__torch__.torch # of\n    .classes.profiling.SourceStats())",
}


@pytest.mark.parametrize("line", HIDDEN.values(), ids=HIDDEN)
def test_scripts_that_hide_what_they_reach_for_are_refused(line: str, tmp_path: Path) -> None:
    def alter(name: str, content: bytes) -> bytes:
        return content.replace(b"    return ", f"    {line}\n    return ".encode())

    path = write(mlp(SHAPE, CLASSES), tmp_path / "one.pt", "script")
    before = path.read_bytes()
    assert altered(path, alter).read_bytes() != before
    assert "read or write files" in refusal(lambda: Exported([path], SHAPE, CLASSES))


@pytest.mark.parametrize("kind", KINDS)
def test_an_archive_with_compressed_members_is_not_unpacked(kind: str, tmp_path: Path) -> None:
    path = write(mlp(SHAPE, CLASSES), tmp_path / "one", kind)
    with ZipFile(path, "a", ZIP_DEFLATED) as archive:
        archive.writestr("one/data/more", bytes(1 << 20))
    assert "compressed" in refusal(lambda: Exported([path], SHAPE, CLASSES))


def test_code_that_unpacks_to_more_than_it_holds_is_refused(tmp_path: Path) -> None:
    path = write(mlp(SHAPE, CLASSES), tmp_path / "one", "script")
    with ZipFile(path, "a", ZIP_DEFLATED) as archive:
        archive.writestr("one/code/more.py", bytes((64 << 20) + 1))
    assert "not a file of torch.export or TorchScript" in refusal(lambda: Exported([path], SHAPE, CLASSES))
