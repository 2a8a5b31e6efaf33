"""Configuration of teacher training: table [training] of site.toml, and options that override it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from ostraka.common.crypto.logits import Head
from ostraka.common.datasets.consent import Level
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.factories import is_factory

TEACHERS = "teachers"
"""Folder of a site in which its teachers are stored."""
Progress = Callable[[int, int], None]
"""Called with the training steps done, and their total."""
Network = Literal["logistic", "mlp", "cnn", "resnet", "square-mlp", "square-cnn"]
Estimator = Literal["logistic_regression", "random_forest", "xgboost", "lightgbm"]
Variant = Literal["none", "upsampling", "vanishing", "weighting"]
Tuning = Literal["none", "global", "per_label"]
NETWORKS: tuple[str, ...] = get_args(Network)
ESTIMATORS: tuple[str, ...] = get_args(Estimator)
MODEL_OF_HEAD: Mapping[Head, str] = {
    "linear": "logistic",
    "square": "square-mlp",
    "square-mlp": "square-mlp",
    "square-cnn": "square-cnn",
}
FILE = "file:"
"""Prefix of a model trained elsewhere: a file, or a folder of files."""
_IMAGE_SIDE = 8
"""Minimum side of images for the `cnn`, in pixels: its pooling leaves 4 by 4 positions then, and fewer
below."""


def is_file(model: str) -> bool:
    """Whether a model is "file:path": exported models that are hosted unchanged."""
    return model.startswith(FILE) and model != FILE


def _check_model(model: str) -> str:
    if model in NETWORKS + ESTIMATORS or is_factory(model) or is_file(model):
        return model
    names = ", ".join(NETWORKS + ESTIMATORS)
    raise ValueError(
        f"'{model}' is not a model: give one of {names}, a factory as module:function, or file:path of "
        "exported models"
    )


def _factory(name: str) -> str:
    if is_factory(name) and not is_file(name):
        return name
    raise ValueError(f"'{name}' is not a factory: write module:function")


class TrainingConfig(BaseModel):
    """What to train.

    Attributes:
        teachers: number of teachers. Upsampling trains more, so that each teacher has as many records as
            without it. 0: no teachers; the records answer only sums.
        model: model of a teacher: a built-in name, or a factory "module:function" that takes (shape of a
            record, classes) and returns a torch module or a scikit-learn estimator. None: `cnn` for images of
            at least 8 by 8 pixels, else `mlp`. "file:path" loads models that were trained elsewhere, one
            teacher for each file of a folder.
        head: built-in network, in place of a model, that can be evaluated on encrypted queries in this way.
            The same network named under `model` does not answer encrypted queries.
        encoder: public network that computes the features on which teachers are trained, "module:factory".
            None: teachers get records as the task prepares them.
        epochs: passes of a network's training over its slice, or over the shared features if it learns from
            them. None: a number that suits the model, larger for few records.
        shift: pixels by which training images are shifted at random. None: 2 for a width of 28 pixels, and in
            proportion for other widths.
        rotate: degrees by which training images are rotated at random, in either direction (7.5 in Mühl and
            Boenisch 2022).
        held_out: share of each slice that is held out of its network's training. The network of the pass with
            the lowest loss on that share is kept.
        patience: number of passes without a lower loss on the held-out records after which training stops.
        balanced: whether all classes of a slice, or yes and no of a label, get the same weight, whatever
            their numbers of records.
        thresholds: score from which a teacher of a multi-label task votes yes: one half ("none"), one
            threshold for all labels ("global"), or one for each label ("per_label"). Thresholds are tuned for
            each teacher on the held-out part of its slice, else on the whole slice, or on public records
            (Dziedzic et al. 2023, section I.10).
        abstains: names of labels of a multi-label task that the records lack. Teachers do not learn these
            labels and do not vote on them.
        variant: how different consent levels are used: "upsampling" gives records of higher levels to more
            teachers; "vanishing" and "weighting" train each teacher on records of one level (Mühl and
            Boenisch 2022).
        consent: epsilon of each consent level, as in the federation's policy. If a part is spent, give what
            is left, so that upsampling chooses its copies by it.
        delta: delta of the epsilons in `consent`.
        precision: relative error with which the number of copies in upsampling is proportional to the square
            root of the number of queries that a budget pays for. The smaller the error, the more teachers are
            trained.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    teachers: Annotated[int, Field(ge=0, le=1000)] = 10
    model: Annotated[str, AfterValidator(_check_model)] | None = None
    head: Head | None = None
    encoder: Annotated[str, AfterValidator(_factory)] | None = None
    epochs: Annotated[int, Field(ge=1, le=100_000)] | None = None
    shift: Annotated[int, Field(ge=0, le=10_000)] | None = None
    rotate: Annotated[float, Field(ge=0, le=180)] = 0.0
    held_out: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    patience: Annotated[int, Field(ge=1, le=100_000)] = 5
    balanced: bool = False
    thresholds: Tuning = "none"
    abstains: tuple[str, ...] = ()
    variant: Variant = "none"
    consent: dict[Level, Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)]] | None = None
    delta: Annotated[float, Field(gt=0, lt=1)] = 1e-5
    precision: Annotated[float, Field(ge=1e-6, lt=1)] = 0.2

    @field_validator("head")
    @classmethod
    def _instead_of_a_model(cls, head: Head | None, info: ValidationInfo) -> Head | None:
        if head is not None and info.data.get("model") is not None:
            raise ValueError("a head names its own model: give one of head and model")
        return head

    @property
    def settings(self) -> "TrainingConfig":
        """The settings without the fields that only a site's own table has, such as where its records are."""
        return TrainingConfig(**self.model_dump(include=set(TrainingConfig.model_fields)))

    def model_for(self, shape: tuple[int, ...]) -> str:
        """Return the configured model, or the default one for records of this shape."""
        if self.head is not None:
            return MODEL_OF_HEAD[self.head]
        if self.model is not None:
            return self.model
        large = len(shape) in (2, 3) and sorted(shape)[-2] >= _IMAGE_SIDE
        return "cnn" if large else "mlp"


class TrainingSection(TrainingConfig):
    """Table [training] of a party's site.toml: its records and how to train on them."""

    data: Path | None = None
    """File of labelled records, relative to the site folder."""
    threshold_data: Path | None = None
    """File of public records on which thresholds are tuned. None: each teacher's own slice."""
    shared_features: Path | None = None
    """File of records whose features all sites know, including those of this site's own records. Teachers
    learn from it by FixMatch, besides their slices, and vote in plans that charge only labels (PATE-FM)."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Seed of the slices and of the training."""

    @property
    def required_data(self) -> Path:
        """The file of records; raises `data.missing` if none is named."""
        if self.data is None:
            raise OstrakaError(
                ErrorCode.DATA_MISSING,
                "No data file is named: give --data FILE, or data in table [training] of site.toml.",
            )
        return self.data
