"""The models that vote: trained on slices of one party's records, saved without pickles, evaluated together.

Nothing here imports torch or scikit-learn before a model is trained or loaded.
"""

from typing import TYPE_CHECKING

from ostraka.common.imports import lazy_names

if TYPE_CHECKING:
    from ostraka.services.teachers.config import TrainingConfig
    from ostraka.services.teachers.ensemble import Ensemble, accuracy, label_accuracy
    from ostraka.services.teachers.manifest import TeachersManifest
    from ostraka.services.teachers.training import train

__all__ = ["Ensemble", "TeachersManifest", "TrainingConfig", "accuracy", "label_accuracy", "train"]

__getattr__ = lazy_names(
    __name__,
    {
        "Ensemble": "ensemble",
        "TeachersManifest": "manifest",
        "TrainingConfig": "config",
        "accuracy": "ensemble",
        "label_accuracy": "ensemble",
        "train": "training",
    },
)
