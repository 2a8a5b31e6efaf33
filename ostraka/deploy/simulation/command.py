"""The command line that repeats a simulation."""

import shlex

from ostraka.deploy.simulation.settings import Settings


def command_of(settings: Settings) -> str:
    """Return the command with every option that is not at its default."""
    words = ["ostraka", "simulate"]
    for name, value in changed(settings).items():
        option = f"--{name.replace('_', '-')}"
        words += [option] if value is True else [option, str(value)]
    return shlex.join(words)


def changed(settings: Settings) -> dict[str, object]:
    """Return the settings that are not at their defaults."""
    fields = Settings.model_fields
    return {
        name: value
        for name, value in settings.model_dump(mode="json").items()
        if value is not None and value != fields[name].get_default(call_default_factory=True)
    }
