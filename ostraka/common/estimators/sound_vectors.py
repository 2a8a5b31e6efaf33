"""Support vector machines: libsvm takes the lengths of a model's arrays from one another, unchecked."""

from typing import Any

from ostraka.common.estimators.allowed import SETTINGS


def is_sound_svm(model: Any) -> bool:
    """Whether the arrays of a fitted SVC or NuSVC have the lengths that libsvm reads of them."""
    vectors, counts = model.support_vectors_, model._n_support
    classes = len(model.classes_)
    pairs = (classes * (classes - 1) // 2,)
    probabilities = model._probA.shape
    return bool(
        model._sparse is False
        and model.kernel in SETTINGS[type(model)]["kernel"]
        and classes > 1
        and vectors.shape == (len(model.support_), model.n_features_in_)
        and len(vectors) > 0
        and counts.shape == (classes,)
        and (counts >= 0).all()
        and counts.sum() == len(vectors)
        and model._dual_coef_.shape == (classes - 1, len(vectors))
        and model._intercept_.shape == pairs
        and probabilities in ((0,), pairs)
        and model._probB.shape == probabilities
    )
