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
    from ostraka.client.run.labelling import LabelledPool, LabelResult
    from ostraka.client.run.labels import Labels
    from ostraka.client.run.options import PlanOptions
    from ostraka.client.run.planning import PlanResult
    from ostraka.client.run.site import CheckResult
    from ostraka.common.errors import ErrorCode, OstrakaError
    from ostraka.common.task import Task, load_task
    from ostraka.deploy.provisioning import FederationFolders, provision_local
    from ostraka.deploy.simulation.settings import Settings
    from ostraka.deploy.simulation.simulate import Report, simulate
    from ostraka.guardian.admin.report import ChargeReport, SessionCharge
    from ostraka.guardian.admin.verification import AuditCheck
    from ostraka.guardian.guardian import Guardian, UnitBudget
    from ostraka.services.party import Party
    from ostraka.services.serving.status import PartyStatus
    from ostraka.services.teachers.config import TeacherOptions
    from ostraka.services.teachers.manifest import TeachersManifest

__version__ = version("ostraka")

__all__ = [
    "AuditCheck",
    "ChargeReport",
    "CheckResult",
    "ErrorCode",
    "FederationFolders",
    "Guardian",
    "LabelResult",
    "LabelledPool",
    "Labels",
    "OstrakaError",
    "Party",
    "PartyStatus",
    "PlanOptions",
    "PlanResult",
    "Querier",
    "Report",
    "SessionCharge",
    "Settings",
    "Task",
    "TeacherOptions",
    "TeachersManifest",
    "UnitBudget",
    "accounting",
    "datasets",
    "load_task",
    "mechanisms",
    "provision_local",
    "simulate",
    "students",
]

_HOMES = {
    "AuditCheck": "ostraka.guardian.admin.verification",
    "ChargeReport": "ostraka.guardian.admin.report",
    "CheckResult": "ostraka.client.run.site",
    "ErrorCode": "ostraka.common.errors",
    "FederationFolders": "ostraka.deploy.provisioning",
    "Guardian": "ostraka.guardian.guardian",
    "LabelResult": "ostraka.client.run.labelling",
    "LabelledPool": "ostraka.client.run.labelling",
    "Labels": "ostraka.client.run.labels",
    "OstrakaError": "ostraka.common.errors",
    "Party": "ostraka.services.party",
    "PartyStatus": "ostraka.services.serving.status",
    "PlanOptions": "ostraka.client.run.options",
    "PlanResult": "ostraka.client.run.planning",
    "Querier": "ostraka.client.querier",
    "Report": "ostraka.deploy.simulation.simulate",
    "SessionCharge": "ostraka.guardian.admin.report",
    "Settings": "ostraka.deploy.simulation.settings",
    "Task": "ostraka.common.task",
    "TeacherOptions": "ostraka.services.teachers.config",
    "TeachersManifest": "ostraka.services.teachers.manifest",
    "UnitBudget": "ostraka.guardian.guardian",
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
