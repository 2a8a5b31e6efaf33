"""Sums over the records of real parties, released by a real guardian."""

import secrets
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from ostraka.client.peers.retry import Retry
from ostraka.client.run.site import connect_guardian, connect_parties, guardian_of, load_query_site, threads
from ostraka.client.session.permissions import Permissions
from ostraka.client.sums.peer import SumPeer
from ostraka.client.sums.sum_store import SumStore
from ostraka.client.sums.summing import SummingSession
from ostraka.common.clock import SystemClock
from ostraka.common.config import SITE_FILE
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials
from ostraka.common.mechanism import Moments
from ostraka.common.plan.fields import NONCE_BYTES, RING_BITS
from ostraka.common.plan.plan import Plan
from ostraka.common.sums.codes import ClassCodes
from ostraka.common.sums.feature_map import FeatureMap
from ostraka.common.sums.questions import MomentsQuestion, unpack_symmetric
from ostraka.deploy.simulation.federation import GUARDIAN, QUERY
from tests.e2e.sites import SETTINGS, Sites

SIGMA = 0.5


def start_with_sums(sites: Sites) -> None:
    """Start the federation, whose policies all name votes and sums."""
    _allow_sums(sites, GUARDIAN)
    guardian = sites.federation.serve_guardian()
    for site in SETTINGS.sites:
        # Their files were written anew, with the guardian's address.
        _allow_sums(sites, site)
    sites.children = {GUARDIAN: guardian, **sites.federation.serve_parties()}
    sites.federation.set_budgets()


def _allow_sums(sites: Sites, site: str) -> None:
    config = sites.folder / site / SITE_FILE
    allowed = '[policy]\nmechanisms = ["votes", "sums"]\n'
    text = config.read_text()
    config.write_text(text.replace("[policy]\n", allowed, 1) if "[policy]" in text else f"{text}\n{allowed}")


def ask(sites: Sites, run: Path, rounds: int = 2, ring_bits: RING_BITS = 64) -> list[float]:
    site = load_query_site(sites.folder / QUERY)
    classes = len(sites.task.classes)
    features = len(sites.task.features)
    shown = sites.task.prepare(sites.split.pool.X)
    question = MomentsQuestion(
        FeatureMap(shown.mean(axis=0).astype(np.float64), 4.0),
        ClassCodes(np.eye(classes) - 1 / classes),
        gram=True,
    )
    mechanism = Moments(columns=features + 1, codes=classes, sigma=SIGMA, gram_sigma=2 * SIGMA)
    clock = SystemClock()
    retry = Retry(attempts=2, base_s=0.01)
    with ExitStack() as stack:
        guardian = stack.enter_context(connect_guardian(site, clock, retry))
        pool = stack.enter_context(threads(len(site.parties)))
        parties = stack.enter_context(connect_parties(site, site.parties, SumPeer, clock, retry, pool))
        store = SumStore.load(run)
        if store is None:
            plan = Plan(
                nonce=secrets.token_bytes(NONCE_BYTES),
                task_digest=sites.task.digest,
                classes=classes,
                mechanism=mechanism,
                parties=tuple(sorted(site.parties)),
                quorum=2,
                queries=rounds,
                batch_size=1,
                ring_bits=ring_bits,
            )
            store = SumStore.create(run, plan.serialize())
        permissions = Permissions(Credentials.of(site), guardian_of(site), clock)
        session = SummingSession(guardian, parties, permissions, store)
        answers = [session.ask(question) for _ in range(rounds)]
    own = [sites.task.prepare(shard.X) for shard in sites.split.shards]
    mapped = question.map(np.concatenate(own))
    codes = question.codes(np.concatenate([shard.labels() for shard in sites.split.shards]))
    for answer in answers:
        assert answer.records == len(mapped)
        assert answer.parties == tuple(sorted(site.parties))
        moments, gram = answer.blocks
        d = question.map.columns
        off = (moments - (mapped.T @ codes).ravel()) / SIGMA
        assert abs(off).max() < 8, "8 deviations: one in 10^15 each"
        off_gram = (unpack_symmetric(gram, d) - mapped.T @ mapped) / (2 * SIGMA)
        assert abs(off_gram).max() < 8
    return [float(answer.blocks[0][0]) for answer in answers]


@pytest.mark.processes
def test_sums_come_back_with_the_noise_that_the_plan_says(sites: Sites, tmp_path: Path) -> None:
    start_with_sums(sites)
    run = tmp_path / "run"
    run.mkdir()
    first = ask(sites, run)
    charged = sites.charged()
    assert all(epsilon > 0 for epsilon in charged.values())
    assert ask(sites, run) == first, "what was released is not asked again"
    assert sites.charged() == charged


@pytest.mark.processes
def test_verified_sums_come_back_as_they_would_unverified(sites: Sites, tmp_path: Path) -> None:
    start_with_sums(sites)
    ask(sites, tmp_path, rounds=2, ring_bits=61)
    assert all(epsilon > 0 for epsilon in sites.charged().values())


@pytest.mark.processes
def test_a_policy_from_before_refuses_sums(sites: Sites, tmp_path: Path) -> None:
    sites.start()
    with pytest.raises(OstrakaError) as refused:
        ask(sites, tmp_path)
    assert refused.value.code is ErrorCode.POLICY_REFUSED
