"""Private collaborative learning: label one party's data with everybody's models, under everybody's budget.

The names below are the public interface; everything else may change without notice. Each is imported when it
is used first, so that a guardian's process needs no torch and an administrator's next to nothing.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ostraka import accounting, datasets, mechanisms, students
    from ostraka.client.querier import Querier
    from ostraka.client.run.labels import LabelledPool, Labels
    from ostraka.client.run.options import PlanOptions
    from ostraka.client.run.planning import PlanResult
    from ostraka.common.errors import ErrorCode, OstrakaError
    from ostraka.common.task import Task, load_task
    from ostraka.deploy.provisioning import FederationFolders, provision_local
    from ostraka.deploy.simulation.settings import Settings
    from ostraka.deploy.simulation.simulate import Report, simulate
    from ostraka.guardian.guardian import Guardian
    from ostraka.services.party import Party
    from ostraka.services.teacher_options import TeacherOptions

__version__ = version("ostraka")

__all__ = [
    "ErrorCode",
    "FederationFolders",
    "Guardian",
    "LabelledPool",
    "Labels",
    "OstrakaError",
    "Party",
    "PlanOptions",
    "PlanResult",
    "Querier",
    "Report",
    "Settings",
    "Task",
    "TeacherOptions",
    "accounting",
    "datasets",
    "load_task",
    "mechanisms",
    "provision_local",
    "simulate",
    "students",
]

_HOMES = {
    "ErrorCode": "ostraka.common.errors",
    "FederationFolders": "ostraka.deploy.provisioning",
    "Guardian": "ostraka.guardian.guardian",
    "LabelledPool": "ostraka.client.run.labels",
    "Labels": "ostraka.client.run.labels",
    "OstrakaError": "ostraka.common.errors",
    "Party": "ostraka.services.party",
    "PlanOptions": "ostraka.client.run.options",
    "PlanResult": "ostraka.client.run.planning",
    "Querier": "ostraka.client.querier",
    "Report": "ostraka.deploy.simulation.simulate",
    "Settings": "ostraka.deploy.simulation.settings",
    "Task": "ostraka.common.task",
    "TeacherOptions": "ostraka.services.teacher_options",
    "load_task": "ostraka.common.task",
    "provision_local": "ostraka.deploy.provisioning",
    "simulate": "ostraka.deploy.simulation.simulate",
}
_MODULES = ("accounting", "datasets", "mechanisms", "students")


def __getattr__(name: str) -> Any:
    """Import a public name where it is used first."""
    if name in _MODULES:
        return import_module(f"ostraka.{name}")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'ostraka' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names."""
    return [*__all__, "__version__"]
