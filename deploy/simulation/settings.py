"""What a simulation is asked to do: the command line's options, or a file of the same names."""

import tomllib
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from common.errors import ErrorCode, OstrakaError
from common.mechanism import Confident, GnMax
from common.plan import BOUND, ENFORCE


class Settings(BaseModel):
    """One simulation, with the demo's numbers as defaults; ``threshold`` defaults to half the teachers."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    data: str = "digits"
    label: str = "label"
    parties: int = Field(default=5, ge=2, le=100)
    teachers: int = Field(default=10, ge=1, le=1000)
    labelled: int = Field(default=40, ge=1)
    queries: int = Field(default=300, ge=1)
    mechanism: Literal["confident", "gnmax"] = "confident"
    sigma1: float = Field(default=10.0, gt=0)
    sigma2: float = Field(default=5.0, gt=0)
    threshold: float | None = Field(default=None, gt=0)
    epsilon: float = Field(default=10.0, gt=0)
    delta: float = Field(default=1e-5, gt=0, lt=1)
    enforce: ENFORCE = "worst_case"
    bound: BOUND = "theorem6"
    model: str | None = None
    batch_size: int = Field(default=100, ge=1)
    quorum: int | None = Field(default=None, ge=2)
    seed: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _quorum_can_be_met(self) -> "Settings":
        if self.quorum is not None and self.quorum > self.parties:
            raise ValueError(f"quorum {self.quorum} is larger than the number of parties, {self.parties}")
        return self

    @property
    def sites(self) -> tuple[str, ...]:
        """Names of the answering parties."""
        width = len(str(self.parties))
        return tuple(f"party-{number:0{width}d}" for number in range(1, self.parties + 1))

    @property
    def least_parties(self) -> int:
        """The quorum: as asked, else a majority of the parties."""
        return self.quorum or self.parties // 2 + 1

    @property
    def votes(self) -> int:
        """Teachers of all parties together."""
        return self.parties * self.teachers

    @property
    def plan_mechanism(self) -> GnMax | Confident:
        """The plan's mechanism; GNMax draws its noise at ``sigma2``."""
        if self.mechanism == "gnmax":
            return GnMax(sigma=self.sigma2)
        threshold = self.votes / 2 if self.threshold is None else self.threshold
        return Confident(sigma1=self.sigma1, sigma2=self.sigma2, threshold=threshold)


def load_settings(config: Path | None, given: dict[str, Any]) -> Settings:
    """Settings of a TOML file, overridden by the options that were ``given`` (not None).

    Raises ``config.invalid`` naming the option or key that is off.
    """
    try:
        values = tomllib.loads(config.read_text()) if config else {}
    except OSError as error:
        raise _invalid(f"Cannot read {config}: {error.strerror}; give --config an existing file.") from error
    except tomllib.TOMLDecodeError as error:
        raise _invalid(f"{config} is not TOML: {error}; correct it.") from error
    values |= {name: value for name, value in given.items() if value is not None}
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"]) or "options"
        raise _invalid(f"Setting {name}: {first['msg']}; correct it and simulate again.") from error


def _invalid(problem: str) -> OstrakaError:
    return OstrakaError(ErrorCode.CONFIG_INVALID, problem)
