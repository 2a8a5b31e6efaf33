"""The state of a run on disk."""

from pathlib import Path

from ostraka.client.session.run_state import RunState, RunStore


def test_the_id_of_a_dead_batch_is_not_used_again(tmp_path: Path) -> None:
    state = RunState(task="digits", classes=("even", "odd"), pool_sha256="", pool_size=2, plan="")
    store = RunStore.create(tmp_path, state)
    first = store.begin([0, 1])
    store.record_death(first)
    second = store.begin([0, 1])
    assert (first.id, second.id) == (1, 2)
