import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingClassifier, GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.svm import SVC

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.estimators import skops_files
from ostraka.common.estimators.allowed import ALLOWED, require_allowed
from tests.common.estimators.examples import ALL, FEATURES, X, targets


def name(model: Any) -> str:
    return "-".join(type(step).__name__ for _, step in getattr(model, "steps", [("", model)]))


@pytest.mark.parametrize("model", ALL, ids=name)
def test_an_allowed_estimator_is_kept_and_says_the_same(model: Any) -> None:
    require_allowed(model, "a:b")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = clone(model).fit(X, targets(model))
    kept = skops_files.loads(skops_files.dumps(fitted), FEATURES)
    assert np.array_equal(kept.predict(X), fitted.predict(X))


def test_every_estimator_on_the_list_is_in_the_documentation() -> None:
    page = (Path(__file__).parents[3] / "docs" / "teachers.md").read_text()
    assert not [kind.__name__ for kind in ALLOWED if f"`{kind.__name__}`" not in page]


def test_every_estimator_on_the_list_was_tried() -> None:
    tried: set[type] = set()
    waiting: list[Any] = [*ALL]
    while waiting:
        part = waiting.pop()
        tried.add(type(part))
        if isinstance(part, list | tuple):
            waiting += part
        elif hasattr(part, "get_params"):
            waiting += part.get_params(deep=False).values()
    assert {kind.__name__ for kind in ALLOWED - tried} == {"PassiveAggressiveClassifier"}  # deprecated


@pytest.mark.parametrize(
    ("model", "named"),
    [
        (KNeighborsClassifier(), "sklearn.neighbors._classification.KNeighborsClassifier"),
        (OneVsRestClassifier(KNeighborsClassifier()), "KNeighborsClassifier"),
        (make_pipeline(FunctionTransformer(np.log1p), GaussianNB()), "sets func of FunctionTransformer"),
        (BaggingClassifier(make_pipeline(KNeighborsClassifier())), "KNeighborsClassifier"),
        (ColumnTransformer([("one", "passthrough", partial(len))]), "functools.partial"),
        (ColumnTransformer([("one", KNeighborsClassifier(), [0])]), "KNeighborsClassifier"),
        (SVC(kernel="precomputed"), "sets kernel of SVC to precomputed"),
        (OneHotEncoder(drop="first"), "sets drop of OneHotEncoder to first"),
        (HistGradientBoostingClassifier(categorical_features=[1]), "sets categorical_features"),
        (GradientBoostingClassifier(init=LogisticRegression()), "sets init of GradientBoostingClassifier"),
        (np.log1p, "log1p"),
        (GaussianNB, "the class sklearn.naive_bayes.GaussianNB in place of an instance"),
    ],
)
def test_what_is_not_allowed_is_named_wherever_it_is_held(model: Any, named: str) -> None:
    with pytest.raises(OstrakaError) as refused:
        require_allowed(model, "own:factory")
    assert refused.value.code is ErrorCode.MODEL_INVALID
    assert named in refused.value.message
    assert refused.value.message.startswith("The model own:factory ")
    assert "docs/teachers.md" in refused.value.message
