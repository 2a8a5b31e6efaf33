"""Loading a simulation's settings from a file and options."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ostraka.common.console.options import flat_fields
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.toml import TomlError, read_toml
from ostraka.common.mechanism import labelling
from ostraka.common.validation import first_problem
from ostraka.deploy.simulation.defaults import BY_ENCODING, BY_TASK, task_kind
from ostraka.deploy.simulation.settings import Settings
from ostraka.deploy.simulation.settings_parts import suiting

Named = Callable[[str], str]
"""Returns the name by which people know a setting."""


def option_of(name: str) -> str:
    """Return the command-line option of a setting."""
    return f"--{name.replace('_', '-')}"


def load_settings(config: Path | None, given: dict[str, Any], named: Named = option_of) -> Settings:
    """Load the settings of a TOML file, overridden by the options that were ``given`` (not None).

    Missing settings get the defaults of the task and the encoding; a missing kind of task is read from the
    data. Raises ``config.invalid`` naming the invalid option, as ``named`` calls it, or key, or an option
    that would change nothing.
    """
    try:
        values = read_toml(config) if config else {}
    except OSError as error:
        raise _invalid(f"Cannot read {config}: {error.strerror}; give --config an existing file.") from error
    except TomlError as error:
        raise _invalid(f"{config} {error}; correct it.") from error
    options = {name: value for name, value in given.items() if value is not None}
    values |= options
    several = "," in str(values.get("label", ""))
    kind = values.get("task") or ("multilabel" if several else task_kind(str(values.get("data", ""))))
    try:
        by_encoding = BY_ENCODING.get(str(values.get("encoding")), {})
        label_dp = suiting(values.get("label_dp"), several=kind == "multilabel")
        settings = Settings.model_validate({**BY_TASK.get(kind, {}), **by_encoding, **label_dp, **values})
    except ValidationError as error:
        raise _invalid(f"{_problem(error, options, config, named)}.") from error
    if unused := _find_unused(settings, options, named):
        raise _invalid(unused)
    return settings


def _problem(error: ValidationError, options: Collection[str], config: Path | None, named: Named) -> str:
    """Return the first problem, with the name of its option or of its key in the file."""
    first = error.errors()[0]
    name = next((str(key) for key in first["loc"] if key not in Settings.model_fields), "")
    if first["type"] == "extra_forbidden" and any(name in kind.model_fields for kind in labelling().values()):
        # Files of earlier versions have parameters of mechanisms as keys.
        return f'{config or name}: {name} is said with the mechanism, as in mechanism = "gnmax:sigma=40"'
    problem = first_problem(error, known=flat_fields(Settings), parts=Settings.model_fields)
    if name in options:
        return f"{named(name)}{problem.removeprefix(name)}"
    return f"{config}: {problem}" if config and name else problem


def _find_unused(settings: Settings, given: Collection[str], named: Named) -> str | None:
    """Return a sentence on a given setting that would change nothing; None if all change something."""
    clustered = settings.plan.kind == "noise_cluster" or settings.learning.clusters_pool
    if "clusters" in given and not clustered:
        return f"{named('clusters')} is for mechanism noise_cluster and student denoise-ssl; leave it out."
    if "label_epsilon" in given and not settings.plan.randomizes:
        return (
            f"{named('label_epsilon')} is for labels that are randomised; give label_dp, such as denoise-ssl."
        )
    return None


def _invalid(problem: str) -> OstrakaError:
    return OstrakaError(ErrorCode.CONFIG_INVALID, problem)
