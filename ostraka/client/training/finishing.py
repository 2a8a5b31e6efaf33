"""The end of a training: every party stores its teachers."""

from collections.abc import Callable, Mapping

from ostraka.client.peers.event_loop import run_async
from ostraka.client.session.asking import ask_all, failures
from ostraka.client.training.peer import TrainingPeer, Work
from ostraka.common.errors import ErrorCode, OstrakaError


def finish(
    parties: Mapping[str, TrainingPeer],
    work: Work,
    counted: Mapping[str, int],
    on_stored: Callable[[str], None],
) -> dict[str, OstrakaError]:
    """Have parties store their teachers, all at once; return why some did not.

    `counted` says by site which update of it counted last. `on_stored` is told of each party that did, one
    call at a time.
    """

    async def ask(site: str) -> None:
        await parties[site].probe()
        await parties[site].finish(work, counted.get(site))
        on_stored(site)

    return failures(run_async(ask_all(parties, ask)))


def unfinished(failures: Mapping[str, OstrakaError]) -> OstrakaError:
    """Return the error for parties that did not store their teachers, with what each said."""
    reasons = "; ".join(f"{site}: [{error.code}] {error.message}" for site, error in sorted(failures.items()))
    return OstrakaError(
        ErrorCode.PARTY_UNREACHABLE,
        "All rounds are done, and some parties did not store their teachers: run `ostraka party train`"
        f" there again, and this command. {reasons}",
    )
