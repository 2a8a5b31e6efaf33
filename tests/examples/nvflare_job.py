"""A job of NVFlare in which two answering parties serve while a querying party labels: run as a program."""

# pyright: reportMissingImports=false
# NVFlare is installed separately: it needs other versions of gRPC and protobuf.

import sys
import threading
from pathlib import Path

from nvflare.job_config.api import FedJob

import ostraka
from ostraka.datasets import digits, infer_task, write_task
from ostraka.mechanisms import GnMax
from tests.waiting import until

SECONDS = 30.0
"""How long parties serve."""
QUERIES = 12


def main(folder: Path, example: Path) -> None:
    """Make a federation in `folder`, serve its guardian here and its parties in a job, and label."""
    sys.path.insert(0, str(example))
    fed = provisioned(folder / "fed")
    with ostraka.Guardian(fed.guardian).serve():
        asking = threading.Thread(target=ask, args=(fed, folder))
        asking.start()
        job(fed).simulator_run(str(folder / "workspace"))
        asking.join()


def provisioned(folder: Path) -> ostraka.FederationFolders:
    """Return two parties with teachers, and a querying party, all with the task."""
    fed, data = ostraka.provision_local("attica", ["athens", "sparta"], "q", folder), digits()
    for site in [*fed.parties.values(), fed.query]:
        write_task(infer_task(data, "digits"), site / "task.toml")
    options = ostraka.TeacherOptions(teachers=3, model="logistic_regression")
    for number, site in enumerate(fed.parties.values()):
        ostraka.Party(site).train(data.take(slice(200 * number, 200 * (number + 1))), options)
    return fed


def job(fed: ostraka.FederationFolders) -> FedJob:
    """Return the job: every client serves its own party."""
    from answering_party import AnsweringParty
    from serving import TASK, Serving

    made = FedJob(name="serve", min_clients=len(fed.parties))
    made.to(Serving(SECONDS), "server")
    for name, site in fed.parties.items():
        made.to(AnsweringParty(str(site)), name, tasks=[TASK])
    return made


def ask(fed: ostraka.FederationFolders, folder: Path) -> None:
    """Label as soon as both parties serve."""
    admin, options = ostraka.Guardian(fed.admin), ostraka.PlanOptions(mechanism=GnMax(sigma=4.0), quorum=2)
    for name in fed.parties:
        admin.set_budget(name, 100, delta=1e-5, new=True)
    until(lambda: all(serves(site) for site in fed.parties.values()))
    labels = ostraka.Querier(fed.query).label(
        digits().take(slice(1000, 1000 + QUERIES)), options, folder / "run"
    )
    print(labels.answered, "labels by", len(fed.parties), "parties", flush=True)


def serves(site: Path) -> bool:
    """Whether the guardian has the party as active."""
    return ostraka.Party(site).status().state == "active"


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
