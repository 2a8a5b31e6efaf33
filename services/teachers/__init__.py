"""The models that vote: trained on slices of one party's records, saved without pickles, asked together.

Nothing here imports torch or scikit-learn before a model is trained or loaded.
"""

from services.teachers.config import TrainingConfig
from services.teachers.ensemble import Ensemble, Teacher
from services.teachers.manifest import TeachersManifest
from services.teachers.metrics import accuracy, label_accuracy
from services.teachers.training import train

__all__ = ["Ensemble", "Teacher", "TeachersManifest", "TrainingConfig", "accuracy", "label_accuracy", "train"]
