"""Small fitted estimators of every allowed kind."""

from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC, NuSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

RANDOM = np.random.default_rng(0)
FEATURES = 4
y = np.arange(60) % 3
X = np.abs(RANDOM.normal(size=(60, FEATURES))).astype(np.float32)
X[:, 3] = RANDOM.integers(0, 3, 60)
X[:, 0] += y


def columns() -> ColumnTransformer:
    """Return a transformer that imputes and scales numbers, encodes a category, and passes the rest
    through."""
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    category = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return ColumnTransformer([("number", numbers, [0, 1]), ("kind", category, [3])], remainder="passthrough")


CLASSIFIERS: list[Any] = [
    RandomForestClassifier(2),
    ExtraTreesClassifier(2),
    DecisionTreeClassifier(),
    ExtraTreeClassifier(),
    HistGradientBoostingClassifier(max_iter=3),
    GradientBoostingClassifier(n_estimators=2),
    GradientBoostingClassifier(n_estimators=2, init="zero"),
    AdaBoostClassifier(n_estimators=2),
    LogisticRegression(),
    LogisticRegressionCV(Cs=2, cv=2),
    RidgeClassifier(),
    RidgeClassifierCV(),
    SGDClassifier(),
    Perceptron(),
    LinearSVC(),
    LinearDiscriminantAnalysis(),
    QuadraticDiscriminantAnalysis(),
    SVC(),
    NuSVC(nu=0.1),
    MLPClassifier((4,), max_iter=2),
    MLPClassifier((4,), max_iter=2, solver="sgd"),
    GaussianNB(),
    BernoulliNB(),
    MultinomialNB(),
    ComplementNB(),
    CategoricalNB(min_categories=20),
    DummyClassifier(),
    OneVsRestClassifier(GradientBoostingClassifier(n_estimators=2)),
    OneVsOneClassifier(LinearSVC()),
    MultiOutputClassifier(HistGradientBoostingClassifier(max_iter=2)),
    BaggingClassifier(n_estimators=2),
    VotingClassifier([("one", LogisticRegression()), ("other", GaussianNB())], voting="soft"),
    make_pipeline(columns(), HistGradientBoostingClassifier(max_iter=2)),
    make_pipeline(columns(), ExtraTreesClassifier(2)),
]
TRANSFORMERS: list[Any] = [
    StandardScaler(),
    MinMaxScaler(),
    MaxAbsScaler(),
    RobustScaler(),
    Normalizer(),
    Binarizer(),
    PowerTransformer(),
    QuantileTransformer(n_quantiles=10),
    KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf"),
    OneHotEncoder(handle_unknown="ignore"),
    OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    SimpleImputer(add_indicator=True),
    MissingIndicator(features="all"),
    PCA(2),
    TruncatedSVD(2),
    VarianceThreshold(),
    FunctionTransformer(),
    FeatureUnion([("few", PCA(2)), ("all", StandardScaler())]),
]
ALL = CLASSIFIERS + [make_pipeline(transformer, LogisticRegression()) for transformer in TRANSFORMERS]


def targets(model: Any) -> Any:
    """Return the labels to fit the estimator to: two outputs if it has several."""
    return np.stack([y == 1, y == 2], axis=1).astype(int) if isinstance(model, MultiOutputClassifier) else y
