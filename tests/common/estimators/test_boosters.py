import json
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from xgboost import XGBClassifier

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.estimators import boosters, lightgbm_models
from ostraka.common.estimators.allowed import require_allowed
from ostraka.common.estimators.boosters import Boosters, require_keepable
from ostraka.common.estimators.formats import FORMATS, Format, format_of
from ostraka.common.estimators.skops_files import DamagedModelError
from tests.common.estimators.examples import FEATURES, X, y

ALONE: dict[str, Any] = {"n_jobs": 1}
"""Threads of these libraries wait by spinning, which is counted where other work has the cores."""
QUIET: dict[str, Any] = {"verbose": -1, "min_child_samples": 3, **ALONE}
MODELS: dict[str, Any] = {
    "xgboost": XGBClassifier(n_estimators=4, max_depth=3, **ALONE),
    "pruned": XGBClassifier(n_estimators=4, gamma=1.0, num_parallel_tree=2, subsample=0.7, **ALONE),
    "lightgbm": LGBMClassifier(n_estimators=4, num_leaves=5, **QUIET),
    "dart": LGBMClassifier(n_estimators=4, boosting_type="dart", **QUIET),
}
CLASSES = {"three": y, "two": (y > 0).astype(int), "gap": 2 * y}
FORMAT: dict[str, Format] = {kind.suffix.split(".")[1]: kind for kind in FORMATS}


@pytest.mark.parametrize("classes", CLASSES)
@pytest.mark.parametrize("name", MODELS)
def test_kept_models_say_what_the_library_says(name: str, classes: str) -> None:
    labels = CLASSES[classes]
    known, codes = np.unique(labels, return_inverse=True)
    asked = np.where(X > 2, np.nan, X).astype(np.float32)
    expected = clone(MODELS[name]).fit(X, codes).predict_proba(asked)
    fitted = Boosters.fit(MODELS[name], X, labels)
    kept = format_of(fitted).loads(format_of(fitted).dumps(fitted), FEATURES)
    np.testing.assert_allclose(kept.predict_proba(asked), expected, rtol=1e-5)
    assert np.array_equal(kept.predict(asked), known[expected.argmax(axis=1)])
    assert kept.classes_.tolist() == known.tolist()


@pytest.mark.parametrize("name", ["xgboost", "lightgbm"])
def test_labels_have_a_model_each_and_a_constant_one_has_none(name: str) -> None:
    labels = np.stack([y == 0, y == 2, y >= 0, y < 0], axis=1).astype(np.int64)
    fitted = Boosters.fit(MODELS[name], X, labels)
    kept = format_of(fitted).loads(format_of(fitted).dumps(fitted), FEATURES)
    scores = kept.predict_proba(X)
    assert scores.shape == (60, 4)
    assert (scores[:, 2:] == [1, 0]).all()
    assert (kept.predict(X)[:, :2] == labels[:, :2]).mean() > 0.8


@cache
def saved(name: str) -> bytes:
    return format_of(fitted := Boosters.fit(MODELS[name], X, y)).dumps(fitted)


def refused(name: str, content: bytes) -> None:
    with pytest.raises(DamagedModelError):
        FORMAT[name].loads(content, FEATURES)


def edited(name: str, edit: Callable[[str], str]) -> bytes:
    file = json.loads(saved(name))
    before = file["models"][0]
    file["models"][0] = edit(before)
    assert file["models"][0] != before
    return json.dumps(file).encode()


def tree(key: str, value: Any, node: int = 0) -> Callable[[Any], None]:
    """Set a value of the second tree: of an array's node, or of its sizes."""

    def edit(learner: Any) -> None:
        one = learner["gradient_booster"]["model"]["trees"][1]
        if key in one["tree_param"]:
            one["tree_param"][key] = value
        elif isinstance(value, list):
            one[key] = value
        else:
            one[key][node] = value

    return edit


def of_model(key: str, value: Any) -> Callable[[Any], None]:
    return lambda learner: learner["gradient_booster"]["model"].update({key: value})


def chain(learner: Any) -> None:
    """Make a tree of 2,001 levels, which its library would walk down by recursion."""
    one = learner["gradient_booster"]["model"]["trees"][0]
    levels = 2001
    left, right, parents = [-1] * (2 * levels + 1), [-1] * (2 * levels + 1), [2**31 - 1] * (2 * levels + 1)
    for level in range(levels):
        above = 0 if level == 0 else 2 * level - 1
        left[above], right[above] = 2 * level + 1, 2 * level + 2
        parents[2 * level + 1] = parents[2 * level + 2] = above
    size = len(left)
    one |= {"left_children": left, "right_children": right, "parents": parents}
    one |= {key: [0] * size for key in ("split_indices", "default_left", "split_type")}
    one |= {key: [0.5] * size for key in ("split_conditions", "base_weights", "loss_changes", "sum_hessian")}
    one["tree_param"]["num_nodes"] = str(size)


@pytest.mark.parametrize(
    "edit",
    [
        tree("left_children", 10**6),
        tree("right_children", 0),
        tree("left_children", -7),
        tree("left_children", -1),
        tree("split_indices", FEATURES),
        tree("split_indices", -1),
        tree("parents", 5, node=1),
        tree("parents", 0),
        tree("parents", 3, node=2),
        tree("split_type", 1),
        tree("categories", [1]),
        tree("num_nodes", "3"),
        tree("num_feature", "9"),
        tree("size_leaf_vector", "3"),
        tree("split_conditions", float("nan")),
        tree("default_left", [1]),
        of_model("tree_info", [0, 1, 7] * 4),
        of_model("iteration_indptr", [0, 3, 6, 9, 99]),
        of_model("trees", []),
        lambda learner: learner["gradient_booster"]["model"].update(
            trees=[],
            tree_info=[],
            iteration_indptr=[0],
            gbtree_model_param={"num_trees": "0", "num_parallel_tree": "999999999"},
        ),
        of_model("gbtree_model_param", {"num_trees": "12", "num_parallel_tree": "0"}),
        of_model("unknown", []),
        lambda learner: learner["learner_model_param"].update(num_class="4"),
        lambda learner: learner["learner_model_param"].update(num_feature="9"),
        lambda learner: learner["objective"].update(name="binary:logistic"),
        lambda learner: learner["learner_model_param"].update(base_score="[" * 50),
        lambda learner: learner["learner_model_param"].update(base_score="[0.5,0.5]"),
        lambda learner: learner["objective"].update(name="reg:squarederror"),
        lambda learner: learner["gradient_booster"].update(name="dart"),
        chain,
    ],
)
def test_an_xgboost_model_that_leads_outside_its_arrays_is_refused(edit: Callable[[Any], None]) -> None:
    def change(text: str) -> str:
        model = json.loads(text)
        edit(model["learner"])
        return json.dumps(model)

    refused("xgboost", edited("xgboost", change))


def first(key: str, value: str) -> Callable[[str], str]:
    """Set the first number of the first field of this name."""

    def edit(text: str) -> str:
        before, _, rest = text.partition(f"\n{key}=")
        line, _, after = rest.partition("\n")
        return f"{before}\n{key}={' '.join([value, *line.split()[1:]])}\n{after}"

    return edit


@pytest.mark.parametrize(
    "edit",
    [
        first("left_child", "1000000"),
        first("left_child", "0"),
        first("right_child", "-999"),
        first("split_feature", str(FEATURES)),
        first("split_feature", "-1"),
        first("decision_type", "1"),
        first("num_cat", "1"),
        first("is_linear", "1"),
        first("num_leaves", "3"),
        first("num_leaves", "0"),
        first("num_leaves", "2000000000"),
        first("threshold", "nan"),
        first("leaf_value", "0 0"),
        first("max_feature_idx", "9"),
        first("num_class", "2"),
        first("num_tree_per_iteration", "1"),
        first("objective", "custom"),
        lambda text: text.replace("Tree=1", "Tree=7"),
        lambda text: text.replace("end of trees", "trees"),
        lambda text: text.replace("\nnum_class", "\naverage_output\nnum_class"),
        lambda text: text[: text.index("Tree=4")] + "end of trees\n",
        lambda text: text.replace("tree\nversion", "bush\nversion"),
    ],
)
def test_a_lightgbm_model_that_leads_outside_its_arrays_is_refused(edit: Callable[[str], str]) -> None:
    refused("lightgbm", edited("lightgbm", edit))


def test_sizes_that_a_lightgbm_file_claims_never_reach_the_library() -> None:
    content = edited("lightgbm", lambda text: text.replace("tree_sizes=", "tree_sizes=99999999 "))
    whole, read = (FORMAT["lightgbm"].loads(each, FEATURES) for each in (saved("lightgbm"), content))
    assert np.array_equal(read.predict_proba(X), whole.predict_proba(X))


@pytest.mark.parametrize("name", ["xgboost", "lightgbm"])
@pytest.mark.parametrize(
    "change",
    [
        {"features": FEATURES + 1},
        {"features": 0},
        {"classes": [0, 1]},
        {"classes": [0]},
        {"models": []},
        {"models": [1]},
        {"models": ["[" * 100_000]},
        {"more": 1},
    ],
)
def test_files_of_other_records_or_classes_are_refused(name: str, change: dict[str, Any]) -> None:
    refused(name, json.dumps(json.loads(saved(name)) | change).encode())


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"[" * 10_000, b"\xff", saved("xgboost")[:-9]])
def test_damaged_booster_files_are_refused(content: bytes) -> None:
    refused("xgboost", content)


def test_records_of_another_width_are_not_asked_about() -> None:
    model = FORMAT["xgboost"].loads(saved("xgboost"), FEATURES)
    with pytest.raises(ValueError, match="another number"):
        model.predict(X[:, :2])


@pytest.mark.parametrize(
    ("model", "named"),
    [
        (XGBClassifier(booster="gblinear"), "booster"),
        (XGBClassifier(objective=lambda true, given: (true, given)), "objective"),
        (XGBClassifier(missing=-1), "missing"),
        (LGBMClassifier(boosting_type="rf"), "boosting_type"),
    ],
)
def test_settings_that_cannot_be_kept_are_refused_before_training(model: Any, named: str) -> None:
    with pytest.raises(OstrakaError, match=f"sets {named} to") as told:
        require_keepable(model, "own:factory")
    assert told.value.code is ErrorCode.MODEL_INVALID


def test_inside_other_estimators_they_are_refused() -> None:
    with pytest.raises(OstrakaError, match="XGBClassifier, which is not allowed"):
        require_allowed(make_pipeline(XGBClassifier()), "own:factory")


@pytest.mark.parametrize("name", ["xgboost", "lightgbm"])
def test_a_library_that_is_absent_is_named_with_its_command(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = saved(name)
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(OstrakaError, match=f"need {name}: .*ostraka\\[boosting\\]") as told:
        FORMAT[name].loads(content, FEATURES)
    assert told.value.code is ErrorCode.MODEL_INVALID


@pytest.mark.parametrize("name", ["xgboost", "lightgbm"])
def test_a_file_of_so_many_bytes_is_read_and_no_larger_one(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = saved(name)
    monkeypatch.setattr(boosters, "MAX_FILE_BYTES", len(content))
    FORMAT[name].loads(content, FEATURES)
    monkeypatch.setattr(boosters, "MAX_FILE_BYTES", len(content) - 1)
    refused(name, content)


def test_a_tree_of_lightgbm_has_so_many_leaves_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    content = saved("lightgbm")
    monkeypatch.setattr(lightgbm_models, "_MAX_LEAVES", 5)
    FORMAT["lightgbm"].loads(content, FEATURES)
    monkeypatch.setattr(lightgbm_models, "_MAX_LEAVES", 4)
    refused("lightgbm", content)
