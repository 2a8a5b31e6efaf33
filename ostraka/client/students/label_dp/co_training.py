"""Two networks that learn in turn: how their steps are divided, and where they stand in a file."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from torch import nn

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.checkpoint import Checkpoint, State
from ostraka.common.learning.learning import Look
from ostraka.common.learning.loop import Progress

WARM_UP = 0.25
"""Part of the steps in which labels are not doubted yet."""


@dataclass(frozen=True)
class CoTrainingTurn:
    """Some steps of one network while the other rests.

    Attributes:
        number: of the turn, from 0; even ones are the first network's.
        steps: how many it takes.
        done: steps of both networks before it.
        total: steps of both networks in all turns.
    """

    number: int
    steps: int
    done: int
    total: int

    @property
    def round(self) -> int:
        """How often labels were divided anew for this network, 0 in the warm-up."""
        return self.number // 2

    def overall(self, progress: Progress | None) -> Progress | None:
        """Progress of this turn as progress of all."""
        return None if progress is None else lambda done, _: progress(self.done + done, self.total)


def turns(steps: int, rounds: int) -> Iterator[CoTrainingTurn]:
    """Yield a warm-up of both networks and their `rounds`, together about `steps`; at least one step a turn.

    Raises `config.invalid` for no rounds.
    """
    if rounds < 1:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, f"The student aug-descent needs at least 1 round, not {rounds}."
        )
    warm = max(1, round(WARM_UP * steps / 2))
    each = max(1, (steps // 2 - warm) // rounds)
    lengths = [length for length in (warm, *[each] * rounds) for _ in range(2)]
    for number, length in enumerate(lengths):
        yield CoTrainingTurn(number, length, sum(lengths[:number]), sum(lengths))


class CoTrainingCheckpoint:
    """Both networks of a training as its checkpoint has them after a turn."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        """Take the checkpoint where the networks are kept, if anywhere."""
        self._checkpoint = checkpoint

    def save(self, turn: CoTrainingTurn, nets: tuple[nn.Module, nn.Module], looks: list[Look]) -> None:
        """Keep both networks as they stand after a turn."""
        notes = {"turns": turn.number + 1, "looks": [asdict(look) for look in looks]}
        parts = {str(row): net.state_dict() for row, net in enumerate(nets)}
        self._checkpoint.save(State(notes, parts))

    def restore(self, nets: tuple[nn.Module, nn.Module]) -> tuple[int, list[Look]]:
        """Put both networks where the checkpoint says they stood; return the turns made, and looks."""
        stood = self._checkpoint.read()
        if stood is None:
            return 0, []
        for row, net in enumerate(nets):
            net.load_state_dict(stood.parts[str(row)])
            net.eval()
        return int(stood.notes["turns"]), [Look(**look) for look in stood.notes["looks"]]

    def remove(self) -> None:
        """Remove the checkpoint of a training that is done."""
        self._checkpoint.remove()
