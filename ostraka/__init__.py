"""Private collaborative learning: learn from many sites' records, under each site's own privacy budget.

The names below are the public interface; everything else may change without notice. Each is imported when it
is used first, so that a guardian's process needs no torch and an administrator's next to nothing.
"""

import os
from typing import TYPE_CHECKING

from ostraka.common.imports import lazy_names
from ostraka.common.tls_minimum import set_tls_minimum

if TYPE_CHECKING:
    from ostraka import accounting, datasets, mechanisms, students
    from ostraka.client.describing.describe_options import DescribeOptions
    from ostraka.client.describing.describing import Description
    from ostraka.client.fitting.fit_options import FitOptions
    from ostraka.client.fitting.fitting import FitResult
    from ostraka.client.querier import Querier
    from ostraka.client.run.labelling import LabelledPool, LabelResult
    from ostraka.client.run.labels import Labels
    from ostraka.client.run.options import PlanOptions
    from ostraka.client.run.planning import PlanResult
    from ostraka.client.run.site import CheckResult
    from ostraka.common.errors import ErrorCode, OstrakaError
    from ostraka.common.task import Task, load_task
    from ostraka.deploy.advice.advise import Advice, advise
    from ostraka.deploy.advice.options import AdviceOptions
    from ostraka.deploy.provisioning import FederationFolders, provision_local
    from ostraka.deploy.simulation.settings import Settings
    from ostraka.deploy.simulation.simulate import Report, simulate
    from ostraka.guardian.admin.report import ChargeReport, SessionCharge
    from ostraka.guardian.admin.verification import AuditCheck
    from ostraka.guardian.guardian import Guardian, UnitBudget
    from ostraka.services.party import Party
    from ostraka.services.serving.status import PartyStatus
    from ostraka.services.teachers.manifest import TeachersManifest
    from ostraka.services.teachers.options import TeacherOptions

# Before gRPC is imported, which reads both once; its own lines say less than OstrakaError does.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
set_tls_minimum()

__version__ = "0.1.0"
"""A literal: to read an installation's metadata takes as long as all else that `ostraka --version` does."""

__all__ = [
    "Advice",
    "AdviceOptions",
    "AuditCheck",
    "ChargeReport",
    "CheckResult",
    "DescribeOptions",
    "Description",
    "ErrorCode",
    "FederationFolders",
    "FitOptions",
    "FitResult",
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
    "advise",
    "datasets",
    "load_task",
    "mechanisms",
    "provision_local",
    "simulate",
    "students",
]

__getattr__ = lazy_names(
    __name__,
    {
        "Advice": "deploy.advice.advise",
        "AdviceOptions": "deploy.advice.options",
        "AuditCheck": "guardian.admin.verification",
        "ChargeReport": "guardian.admin.report",
        "CheckResult": "client.run.site",
        "DescribeOptions": "client.describing.describe_options",
        "Description": "client.describing.describing",
        "ErrorCode": "common.errors",
        "FederationFolders": "deploy.provisioning",
        "FitOptions": "client.fitting.fit_options",
        "FitResult": "client.fitting.fitting",
        "Guardian": "guardian.guardian",
        "LabelResult": "client.run.labelling",
        "LabelledPool": "client.run.labelling",
        "Labels": "client.run.labels",
        "OstrakaError": "common.errors",
        "Party": "services.party",
        "PartyStatus": "services.serving.status",
        "PlanOptions": "client.run.options",
        "PlanResult": "client.run.planning",
        "Querier": "client.querier",
        "Report": "deploy.simulation.simulate",
        "SessionCharge": "guardian.admin.report",
        "Settings": "deploy.simulation.settings",
        "Task": "common.task",
        "TeacherOptions": "services.teachers.options",
        "TeachersManifest": "services.teachers.manifest",
        "UnitBudget": "guardian.guardian",
        "advise": "deploy.advice.advise",
        "load_task": "common.task",
        "provision_local": "deploy.provisioning",
        "simulate": "deploy.simulation.simulate",
        **dict.fromkeys(("accounting", "datasets", "mechanisms", "students"), ""),
    },
)


def __dir__() -> list[str]:
    """Return the public names."""
    return [*__all__, "__version__"]
