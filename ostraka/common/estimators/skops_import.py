"""The first import of skops, without torch.

To list all estimators, skops imports every package of scikit-learn. One of them imports torch, for 3 s of
processor time, and has no estimator.
"""

from types import ModuleType

from ostraka.common.imports import hide


def _import_skops() -> ModuleType:
    with hide("sklearn.externals.array_api_compat.torch"):
        import skops.io
    return skops.io


SKOPS = _import_skops()
