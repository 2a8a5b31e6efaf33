"""Settings of single labels, in a file of the querying party."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, SerializerFunctionWrapHandler, ValidationError, model_serializer, model_validator

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import write_atomic
from ostraka.common.files.toml import TomlError, read_toml
from ostraka.common.mechanism import Mechanism, invalid_plan
from ostraka.common.mechanism.arguments import make_mechanism, parameter_names, parameters_of, split_mechanism
from ostraka.common.task.columns import Name
from ostraka.common.validation import FrozenModel, first_problem

CHECK_KEYS = {"sigma1": "check.sigma", "threshold": "check.threshold"}
"""Keys for the check that multi-label mechanisms may have."""


class LabelGroup(FrozenModel):
    """Labels that are asked with the same parameters; None stands for the command's parameter.

    Parameters are given either in `mechanism`, or by separate keys.

    Attributes:
        labels: their names.
        mechanism: the command's mechanism with these parameters, such as tau:sigma=9.
        sigma: noise of the answer, in votes.
        sigma1: noise of the check, in votes.
        threshold: votes required by the check.
        tau: L2 norm to which tau clips a ballot.
        tau1: L1 norm to which l1 clips a ballot.
        max_positives: maximum number of positive labels in a set of powerset.
    """

    labels: Annotated[tuple[Name, ...], Field(min_length=1)]
    mechanism: str | None = None
    sigma: float | None = None
    sigma1: float | None = None
    threshold: float | None = None
    tau: float | None = None
    tau1: float | None = None
    max_positives: int | None = None

    @model_validator(mode="after")
    def _check_one_form(self) -> Self:
        if self.mechanism is not None and self._keys():
            raise ValueError("mechanism and keys of parameters are both given; say all in mechanism")
        return self

    @model_serializer(mode="wrap")
    def _without_absent_mechanism(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Omit an absent `mechanism`: rounds compare this with what earlier versions stored."""
        values: dict[str, Any] = handler(self)
        if self.mechanism is None:
            values.pop("mechanism", None)
        return values

    def change(self, usual: Mechanism) -> Mechanism:
        """Return the run's mechanism with the parameters of this group.

        Raises `plan.invalid` for an unknown or invalid parameter, and for another mechanism.
        """
        try:
            return make_mechanism(usual.kind, **parameters_of(usual) | self._own(usual))
        except OstrakaError as exc:
            raise OstrakaError(exc.code, f"Settings of label '{self.labels[0]}': {exc.message}") from exc

    def _own(self, usual: Mechanism) -> dict[str, Any]:
        """Return this group's parameters, by their names in the usual mechanism."""
        if self.mechanism is None:
            takes = [name for names in parameter_names(type(usual)) for name in names]
            return {
                CHECK_KEYS[key] if CHECK_KEYS.get(key) in takes else key: value
                for key, value in self._keys().items()
            }
        kind, own = split_mechanism(self.mechanism)
        if kind != usual.kind:
            raise invalid_plan(f"mechanism {kind} is not {usual.kind}, by which labels are asked")
        return dict(own)

    def _keys(self) -> dict[str, float]:
        return self.model_dump(exclude={"labels", "mechanism"}, exclude_none=True)


class LabelSettings(FrozenModel):
    """Groups of labels; a label is in one group, or has the command's settings.

    Raises ValueError, in pydantic's format, for a label that is named twice.
    """

    group: Annotated[tuple[LabelGroup, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _check_names_unique(self) -> Self:
        names = [name for group in self.group for name in group.labels]
        repeated = [name for name in names if names.count(name) > 1]
        if repeated:
            raise ValueError(f"label '{repeated[0]}' is named twice")
        return self

    def of(self, labels: Sequence[str], usual: Mechanism) -> "LabelSettings":
        """Return the groups of labels with equal settings, in the order of their first labels."""
        found: dict[Mechanism, LabelGroup] = {}
        for name in labels:
            own = next((group for group in self.group if name in group.labels), LabelGroup(labels=(name,)))
            alike = found.setdefault(own.change(usual), own.model_copy(update={"labels": ()}))
            found[own.change(usual)] = alike.model_copy(update={"labels": (*alike.labels, name)})
        return LabelSettings(group=tuple(found.values()))

    def check(self, task: str, classes: Sequence[str]) -> None:
        """Raise `plan.invalid` for a label that the task does not have."""
        unknown = [name for group in self.group for name in group.labels if name not in classes]
        if unknown:
            raise invalid_plan(
                f"the task '{task}' has no label '{unknown[0]}', which --label-settings names; "
                f"choose from {', '.join(classes)}"
            )


def load_label_settings(path: Path) -> LabelSettings:
    """Read a file of settings; raise `config.invalid` with the reason if it is damaged."""
    try:
        stated = read_toml(path)
        return LabelSettings.model_validate(stated)
    except OSError as exc:
        raise _unusable(path, "it cannot be read; check the path") from exc
    except ValidationError as exc:
        raise _unusable(path, first_problem(exc, known=LabelGroup.model_fields, data=stated)) from exc
    except TomlError as exc:
        raise _unusable(path, f"it {exc}") from exc


def write_label_settings(settings: LabelSettings, path: Path) -> None:
    """Write a file that `load_label_settings` reads back unchanged."""
    lines: list[str] = []
    for group in settings.group:
        given = group.model_dump(mode="json", exclude_none=True)
        fields = (f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in given.items())
        lines += ["[[group]]", *fields, ""]
    write_atomic(path, "\n".join(lines))


def _unusable(path: Path, problem: str) -> OstrakaError:
    return OstrakaError(ErrorCode.CONFIG_INVALID, f"The label settings {path} are invalid: {problem}.")
