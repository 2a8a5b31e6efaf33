"""Files of known types that would lead compiled code out of its arrays, each an edited sound one."""

import json
import zipfile
from collections.abc import Callable
from functools import cache
from io import BytesIO
from typing import Any

import numpy as np
import pytest
import skops.io
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ostraka.common.estimators import skops_files
from ostraka.common.estimators.skops_files import DamagedModelError, UnknownTypeError
from tests.common.estimators.examples import FEATURES, X, y

Edit = Callable[[Any], object]
UNFITTED: dict[str, Any] = {
    "tree": DecisionTreeClassifier(),
    "forest": make_pipeline(StandardScaler(), RandomForestClassifier(2)),
    "extra": OneVsRestClassifier(ExtraTreesClassifier(2)),
    "boosting": make_pipeline(StandardScaler(), GradientBoostingClassifier(n_estimators=2)),
    "histogram": OneVsRestClassifier(HistGradientBoostingClassifier(max_iter=2)),
    "svm": make_pipeline(StandardScaler(), SVC()),
    "encoder": make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression()),
    "dummy": DummyClassifier(strategy="stratified", random_state=np.random.RandomState(0)),
}


@cache
def saved(name: str) -> bytes:
    return skops_files.dumps(UNFITTED[name].fit(X, y))


def edit_tree(tree: Any, field: str, value: int) -> None:
    state = tree.__getstate__()
    state["nodes"][field][0] = value
    tree.__setstate__(state)


def node(field: str, value: int) -> Edit:
    return lambda model: edit_tree(model[-1].estimators_[1].tree_, field, value)


def stage(field: str, value: int) -> Edit:
    return lambda model: edit_tree(model[-1].estimators_[1, 2].tree_, field, value)


def bin_node(field: str, value: int) -> Edit:
    def edit(model: Any) -> None:
        model.estimators_[2]._predictors[1][0].nodes[field][0] = value

    return edit


def attribute(name: str, value: Any, step: int = -1) -> Edit:
    """Set an attribute to a value, or to what a function makes of it."""

    def edit(model: Any) -> None:
        part = model[step]
        setattr(part, name, value(getattr(part, name)) if callable(value) else value)

    return edit


def histogram(name: str, value: Any) -> Edit:
    def edit(model: Any) -> None:
        part = model.estimators_[0]
        setattr(part, name, value(getattr(part, name)) if callable(value) else value)

    return edit


def first_category(values: list[float]) -> Edit:
    def edit(model: Any) -> None:
        encoder = model[0]
        encoder.categories_[0] = np.array(values)
        encoder._n_features_outs[0] = len(values)

    return edit


def negative(counts: Any) -> Any:
    counts[0] += 2 * counts[1]
    counts[1] *= -1
    return counts


def more_columns(model: Any) -> None:
    stages = model[-1].estimators_
    model[-1].estimators_ = np.hstack([stages, stages])


def wider_stage(model: Any) -> None:
    """Let a tree ask for a feature that it says records have, and boosting says they have not."""
    tree = model[-1].estimators_[1, 2]
    tree.n_features_in_ = 2 * FEATURES
    edit_tree(tree.tree_, "feature", FEATURES)


def stage_of_two(model: Any) -> None:
    model[-1].estimators_[1, 2] = DecisionTreeRegressor().fit(X, X[:, :2])


def all_categories(mapper: Any) -> Any:
    mapper.is_categorical_ = np.ones(FEATURES, np.uint8)
    return mapper


def no_vectors(model: Any) -> None:
    svm = model[-1]
    svm.support_, svm._n_support = svm.support_[:0], np.zeros_like(svm._n_support)
    svm.support_vectors_, svm._dual_coef_ = svm.support_vectors_[:0], svm._dual_coef_[:, :0]


def fewer_columns(model: Any) -> None:
    model[0].categories_, model[0]._n_features_outs = model[0].categories_[:1], model[0]._n_features_outs[:1]


def wider(vectors: Any) -> Any:
    return np.ascontiguousarray(vectors[:, :2])


def twister(position: int) -> Edit:
    def edit(model: Any) -> None:
        state = model.random_state.get_state(legacy=False)
        state["state"]["pos"] = position
        model.random_state.set_state(state)

    return edit


EDITS: list[tuple[str, Edit]] = [
    ("tree", lambda model: edit_tree(model.tree_, "feature", FEATURES)),
    ("tree", lambda model: setattr(model, "n_features_in_", 1)),
    ("tree", lambda model: delattr(model, "n_features_in_")),
    ("tree", lambda model: setattr(model, "tree_", LogisticRegression())),
    ("tree", lambda model: setattr(model, "_validate_X_predict", np.float32)),
    ("forest", node("left_child", 10**6)),
    ("forest", node("right_child", 0)),
    ("forest", node("left_child", -7)),
    ("forest", node("feature", -1)),
    ("extra", lambda model: edit_tree(model.estimators_[0].estimators_[0].tree_, "right_child", 10**9)),
    ("boosting", stage("feature", FEATURES)),
    ("boosting", stage("left_child", 10**6)),
    ("boosting", more_columns),
    ("boosting", attribute("n_features_in_", FEATURES + 1)),
    ("boosting", attribute("init_", LogisticRegression())),
    ("boosting", lambda model: setattr(model[-1].init_, "class_prior_", np.ones(1))),
    ("boosting", wider_stage),
    ("boosting", stage_of_two),
    ("histogram", histogram("_bin_mapper", all_categories)),
    ("histogram", bin_node("feature_idx", FEATURES)),
    ("histogram", bin_node("feature_idx", -1)),
    ("histogram", bin_node("left", 2**31)),
    ("histogram", bin_node("right", 0)),
    ("histogram", bin_node("is_categorical", 1)),
    ("histogram", histogram("_in_fit", True)),
    ("histogram", histogram("_preprocessor", FunctionTransformer())),
    ("svm", attribute("_n_support", negative)),
    ("svm", attribute("_n_support", lambda counts: np.append(counts, np.int32(0)))),
    ("svm", attribute("_n_support", lambda counts: counts + np.int32(1))),
    ("svm", attribute("_probB", np.ones(3))),
    ("svm", lambda model: vars(model[-1]).update(_probA=np.ones(2), _probB=np.ones(2))),
    ("svm", no_vectors),
    ("svm", attribute("_dual_coef_", lambda coefficients: coefficients[:1])),
    ("svm", attribute("_intercept_", lambda values: values[:1])),
    ("svm", attribute("_probA", np.ones(1))),
    ("svm", attribute("support_vectors_", wider)),
    ("svm", attribute("kernel", "precomputed")),
    ("svm", attribute("_sparse", True)),
    ("svm", lambda model: setattr(model[-1], "_impl", "epsilon_svr")),
    ("encoder", first_category([3.0, 1.0, 2.0])),
    ("encoder", first_category([1.0, 1.0])),
    ("encoder", first_category([])),
    ("encoder", fewer_columns),
    ("encoder", attribute("_n_features_outs", lambda counts: [1] * FEATURES, step=0)),
    ("encoder", attribute("_drop_idx_after_grouping", np.zeros(FEATURES, int), step=0)),
    ("encoder", attribute("_infrequent_enabled", True, step=0)),
    ("dummy", twister(10**6)),
    ("dummy", twister(-1)),
]


@pytest.mark.parametrize(("name", "edit"), EDITS)
def test_an_estimator_that_leads_outside_its_arrays_is_refused(name: str, edit: Edit) -> None:
    model = skops_files.loads(saved(name), FEATURES)
    edit(model)
    with pytest.raises(DamagedModelError):
        skops_files.loads(skops_files.dumps(model), FEATURES)


def test_a_tree_without_an_estimator_around_it_is_refused() -> None:
    tree = skops_files.loads(saved("tree")).tree_
    with pytest.raises(DamagedModelError):
        skops_files.loads(skops_files.dumps(Pipeline([("scale", StandardScaler()), ("tree", tree)])))


def test_an_estimator_of_other_records_is_refused() -> None:
    with pytest.raises(DamagedModelError):
        skops_files.loads(saved("forest"), FEATURES + 1)


@pytest.mark.parametrize(
    "model",
    [
        KNeighborsClassifier().fit(X, y),
        make_pipeline(FunctionTransformer(np.log1p)),
        make_pipeline(KNeighborsClassifier()),
        OneVsRestClassifier(KNeighborsClassifier()),
    ],
)
def test_types_that_are_not_on_the_list_are_neither_written_nor_read(model: Any) -> None:
    with pytest.raises(UnknownTypeError):
        skops_files.dumps(model)
    with pytest.raises(UnknownTypeError):
        skops_files.loads(skops.io.dumps(model))


@pytest.mark.parametrize("loader", ["ConstructorFromReduceNode", "FunctionNode", "PartialNode", None, 3, []])
def test_a_type_counts_only_with_its_own_loader(loader: object) -> None:
    content = BytesIO()
    with zipfile.ZipFile(BytesIO(saved("tree"))) as whole, zipfile.ZipFile(content, "w") as edited:
        for member in whole.namelist():
            text = whole.read(member)
            if member == "schema.json":
                text = text.replace(b'"TreeNode"', json.dumps(loader).encode())
            edited.writestr(member, text)
    with pytest.raises(UnknownTypeError, match="Tree"):
        skops_files.loads(content.getvalue())


@pytest.mark.parametrize("content", [b"", b"PK", saved("tree")[:-100], saved("tree")[100:]])
def test_damaged_files_are_refused(content: bytes) -> None:
    with pytest.raises(DamagedModelError):
        skops_files.loads(content)
