"""Give every site of a provisioned federation its share of scikit-learn's digits, and the task.

A stand-in for what real sites have already: records of their own. Takes the querying party's folder, then
the folders of the answering parties; each party gets `data.npz`, the querying party `labelled.npz`,
`pool.npz` and `test.npz`, everybody the same `task.toml`.
"""

import sys
from pathlib import Path

from ostraka.common.datasets import save
from ostraka.common.task import infer_task, write_task
from ostraka.deploy.simulation.settings import Settings
from ostraka.deploy.simulation.split import split_data


def main(query: Path, *parties: Path) -> None:
    """Write data files and task into these site folders."""
    split = split_data(Settings(parties=len(parties), labelled=40, queries=100, seed=4))
    task = infer_task(split.test, "digits", split.labelled, *split.shards)
    for folder in (query, *parties):
        write_task(task, folder / "task.toml")
    for folder, shard in zip(parties, split.shards, strict=True):
        save(shard, folder / "data.npz")
    for name in ("labelled", "pool", "test"):
        save(getattr(split, name), query / f"{name}.npz")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
