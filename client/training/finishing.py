"""The end of a training: every party stores its teachers."""

from collections.abc import Iterator, Mapping
from concurrent.futures import Executor

from ostraka.client.training.peer import TrainingPeer, Work
from ostraka.common.errors import ErrorCode, OstrakaError


def finish(
    parties: Mapping[str, TrainingPeer], work: Work, counted: Mapping[str, int], pool: Executor
) -> Iterator[tuple[str, OstrakaError | None]]:
    """Has parties store their teachers, all at once; each in turn with why it did not, None where it did.

    `counted` says by site which update of it counted last.
    """

    def ask(site: str) -> OstrakaError | None:
        try:
            parties[site].probe()
            parties[site].finish(work, counted.get(site))
        except OstrakaError as error:
            return error
        return None

    yield from zip(parties, pool.map(ask, parties), strict=True)


def unfinished(failures: Mapping[str, OstrakaError]) -> OstrakaError:
    """Return the error for parties that did not store their teachers, with what each said."""
    reasons = "; ".join(f"{site}: [{error.code}] {error.message}" for site, error in sorted(failures.items()))
    return OstrakaError(
        ErrorCode.PARTY_UNREACHABLE,
        "All rounds are done, and some parties did not store their teachers: run `ostraka party train`"
        f" there again, and this command. {reasons}",
    )
