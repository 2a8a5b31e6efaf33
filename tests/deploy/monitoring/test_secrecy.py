"""No metric of any role depends on a vote: opposite votes leave the same numbers, times aside."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from prometheus_client import CollectorRegistry

from tests.deploy.monitoring.observed import AGREEING, DISSENTING, QUERIES, Observed, teachers

TIMES = (
    *("_seconds_sum", "_seconds_bucket", "_seconds_total", "timestamp_seconds"),
    *("_days_left", "_created", "disk_free_bytes"),
)
"""How the names of samples end that are times, or of the machine."""
RANDOM = {
    'ostraka_rpc_bytes_total{direction="in",method="Party/Evaluate"}',
    'ostraka_query_step_bytes_total{direction="out",peer="party",step="evaluate"}',
}
"""Encrypted queries are compressed, and so of a size that their encryption's randomness says."""


def numbers(registry: CollectorRegistry) -> Iterator[tuple[str, float]]:
    """Every sample that is no time, nor of the process itself."""
    for metric in registry.collect():
        for sample in metric.samples:
            labels = ",".join(f'{key}="{value}"' for key, value in sorted(sample.labels.items()))
            name = f"{sample.name}{{{labels}}}"
            if (
                not sample.name.startswith("process_")
                and not sample.name.endswith(TIMES)
                and name not in RANDOM
            ):
                yield name, sample.value


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("encoding", "tally"),
    [("plain", "aggregate"), ("plain", "blind"), pytest.param("ckks", "blind", marks=pytest.mark.heavy)],
)
def test_opposite_votes_leave_the_same_metrics(
    observed: Observed,
    tmp_path: Path,
    encoding: Literal["plain", "ckks"],
    tally: Literal["aggregate", "blind"],
) -> None:
    encrypted, seen, answered = encoding == "ckks", [], []
    trained = {by: teachers(tmp_path / f"{by}", by, encrypted=encrypted) for by in DISSENTING.values()}
    for off in (AGREEING, DISSENTING):
        made = {party: trained[by] for party, by in off.items()}
        with observed.serving(made) as (_, registries):
            result = observed.label(registries, encoding=encoding, tally=tally)
            answered.append(result.answered)
            seen.append({role: dict(numbers(registry)) for role, registry in registries.items()})
    assert answered[0] > answered[1] == 0
    assert seen[0] == seen[1]
    counted = f'{{encoding="{encoding}",mechanism="confident",tally="{tally}"}}'
    assert seen[0]["guardian"][f"ostraka_guardian_queries_total{counted}"] == QUERIES
    assert seen[0]["a"][f"ostraka_party_batches_total{counted}"] == 2
