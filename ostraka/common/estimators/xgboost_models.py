"""XGBoost models as JSON: checked, and rebuilt from what was checked before the library reads it."""

import json
import re
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from ostraka.common.estimators.booster_trees import is_binary_tree, optional

_MAJOR = 3
"""Supported major version of the files."""
_ROOT = 2**31 - 1
"""Parent of a root."""
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_Decimal = Annotated[str, Field(pattern=r"^\d{1,9}$")]
_Index = Annotated[int, Field(ge=-1, lt=2**31)]
_Real = Annotated[float, Field(allow_inf_nan=False)]
_Flag = Annotated[int, Field(ge=0, le=1)]
_Nothing = Annotated[list[Any], Field(max_length=0)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _TreeSize(_Part):
    num_deleted: _Decimal
    num_feature: _Decimal
    num_nodes: _Decimal
    size_leaf_vector: Literal["0", "1"]


class _Tree(_Part):
    """A tree: arrays with one value per node; for a leaf the threshold is its weight."""

    id: _Index
    tree_param: _TreeSize
    left_children: list[_Index]
    right_children: list[_Index]
    parents: list[_Index]
    split_indices: list[_Index]
    split_conditions: list[_Real]
    default_left: list[_Flag]
    split_type: list[Annotated[int, Field(ge=0, le=0)]]
    base_weights: list[_Real]
    loss_changes: list[_Real]
    sum_hessian: list[_Real]
    categories: _Nothing
    categories_nodes: _Nothing
    categories_segments: _Nothing
    categories_sizes: _Nothing


class _Size(_Part):
    num_parallel_tree: _Decimal
    num_trees: _Decimal


class _Categories(_Part):
    enc: _Nothing
    feature_segments: _Nothing
    sorted_idx: _Nothing


class _Trees(_Part):
    cats: _Categories | None = None
    gbtree_model_param: _Size
    iteration_indptr: list[_Index]
    tree_info: list[_Index]
    trees: list[_Tree]


class _Booster(_Part):
    model: _Trees
    name: Literal["gbtree"]


class _Parameters(_Part):
    base_score: Annotated[str, Field(pattern=rf"^\[?{_NUMBER}(?:,{_NUMBER})*\]?$", max_length=100_000)]
    boost_from_average: Literal["0", "1"]
    num_class: _Decimal
    num_feature: _Decimal
    num_target: Literal["1"]


class _Objective(_Part):
    name: Literal["binary:logistic", "multi:softprob"]
    reg_loss_param: dict[str, str] = {}
    softmax_multiclass_param: dict[str, str] = {}


class _Learner(_Part):
    attributes: dict[str, Any]
    feature_names: _Nothing
    feature_types: _Nothing
    gradient_booster: _Booster
    learner_model_param: _Parameters
    objective: _Objective


class _File(_Part):
    learner: _Learner
    version: Annotated[list[Annotated[int, Field(ge=0, lt=10_000)]], Field(min_length=3, max_length=3)]


class XGBoostModel:
    """One XGBoost model of two or more classes, safe to use on records with `features` values."""

    def __init__(self, text: str, features: int, classes: int) -> None:
        """Take a model as JSON; raise ValueError if it is unsound, or for other records or classes."""
        self.text = _check(text, features, classes)
        xgboost: Any = optional("xgboost")
        self._booster = xgboost.Booster()
        self._booster.load_model(bytearray(self.text.encode()))

    @classmethod
    def text_of(cls, fitted: Any) -> str:
        """Return a fitted XGBClassifier as JSON."""
        return bytes(fitted.get_booster().save_raw("json")).decode()

    def predict(self, X: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return probabilities: of the second of two classes, (N,), or of each class, (N, classes)."""
        return np.asarray(self._booster.inplace_predict(np.ascontiguousarray(X, np.float32)), np.float64)


def _check(text: str, features: int, classes: int) -> str:
    """Return a model's JSON rebuilt only from its checked parts."""
    file = _File.model_validate(json.loads(text))
    learner = file.learner
    model = file.learner.gradient_booster.model
    groups = classes if classes > 2 else 1
    whole = (
        file.version[0] == _MAJOR
        and int(learner.learner_model_param.num_class) == (classes if classes > 2 else 0)
        and int(learner.learner_model_param.num_feature) == features
        and learner.objective.name == ("multi:softprob" if classes > 2 else "binary:logistic")
        and len(re.findall(_NUMBER, learner.learner_model_param.base_score)) in (1, groups)
        and _in_rounds(model, groups)
        and all(_is_sound(tree, number, features) for number, tree in enumerate(model.trees))
    )
    if not whole:
        raise ValueError("the model leads outside its own arrays, or takes other records")
    made = file.model_dump(exclude_none=True)
    made["learner"]["attributes"] = {}
    made["learner"]["objective"] = _objective(classes)
    return json.dumps(made)


def _objective(classes: int) -> dict[str, Any]:
    if classes > 2:
        return {"name": "multi:softprob", "softmax_multiclass_param": {"num_class": str(classes)}}
    return {"name": "binary:logistic", "reg_loss_param": {"scale_pos_weight": "1"}}


def _in_rounds(model: _Trees, groups: int) -> bool:
    """Whether every round has the same number of trees for each class, in order."""
    parallel = int(model.gbtree_model_param.num_parallel_tree)
    a_round = groups * parallel
    trees = len(model.trees)
    if not a_round or not trees or trees % a_round or int(model.gbtree_model_param.num_trees) != trees:
        return False
    classes = np.tile(np.repeat(np.arange(groups), parallel), trees // a_round)
    bounds = list(range(0, trees + 1, a_round))
    return model.tree_info == classes.tolist() and model.iteration_indptr == bounds


def _is_sound(tree: _Tree, number: int, features: int) -> bool:
    """Whether no path of a tree leaves its nodes or the features."""
    nodes = int(tree.tree_param.num_nodes)
    arrays = [value for value in vars(tree).values() if isinstance(value, list) and value]
    if nodes < 1 or len(arrays) != 10 or any(len(array) != nodes for array in arrays):
        return False
    left, right, parents, split = (
        np.array(array, np.int64)
        for array in (tree.left_children, tree.right_children, tree.parents, tree.split_indices)
    )
    inner = left != -1
    above = np.flatnonzero(inner)
    return bool(
        tree.id == number
        and int(tree.tree_param.num_feature) == features
        and ((right == -1) == ~inner).all()
        and is_binary_tree(left, right, inner)
        and parents[0] == _ROOT
        and (parents[left[above]] == above).all()
        and (parents[right[above]] == above).all()
        and ((split[inner] >= 0) & (split[inner] < features)).all()
    )
