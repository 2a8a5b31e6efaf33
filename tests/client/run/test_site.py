"""The public network in front of queries: as options, the site's configuration or the task names it."""

from pathlib import Path

import numpy as np
import pytest

from ostraka.client.run.site import site_encoder
from ostraka.common.config import SiteConfig, write_site
from ostraka.common.datasets import from_arrays
from ostraka.common.learning.encoders import load_encoder
from ostraka.common.task import Task, infer_task

OWN = "tests.common.learning.test_encoders:halves"
PLAIN = infer_task(from_arrays(np.eye(9, dtype=np.float32), np.arange(9) % 2), "task")
PROJECTED = Task.model_validate(PLAIN.model_dump() | {"projection": 4})


@pytest.fixture
def site(tmp_path: Path) -> SiteConfig:
    config = SiteConfig(federation="f", site="q", role="query", guardian="127.0.0.1:1", folder=tmp_path)
    write_site(config)
    return config


@pytest.mark.parametrize(
    ("named", "configured", "task", "found"),
    [
        (None, False, PLAIN, ""),
        (None, False, PROJECTED, PROJECTED.encoder),
        (None, True, PROJECTED, OWN),
        ("", False, PROJECTED, ""),
        (OWN, False, PROJECTED, OWN),
    ],
)
def test_the_nearest_name_counts(
    site: SiteConfig, named: str | None, configured: bool, task: Task, found: str
) -> None:
    if configured:
        config = site.folder / "site.toml"
        config.write_text(config.read_text() + f'\n[query]\nencoder = "{OWN}"\n')
    encoder = site_encoder(site, named, task)
    assert encoder.name == found
    assert encoder.sha256 == (load_encoder(found).sha256 if found else b"")
