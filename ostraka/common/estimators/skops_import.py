"""The first import of skops, without torch.

To list all estimators, skops imports every package of scikit-learn. One of them imports torch, for 3 s of
processor time, and has no estimator.
"""

from ostraka.common.imports import hide


def _import_skops() -> object:
    with hide("sklearn.externals.array_api_compat.torch"):
        import skops.io
    module: object = skops.io
    return module


SKOPS = _import_skops()
