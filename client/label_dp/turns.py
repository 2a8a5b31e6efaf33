"""Two networks that learn in turn: how their steps are divided, and where they stand in a file."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from common.errors import ErrorCode, OstrakaError
from common.learning.checkpoint import write_checkpoint
from common.learning.learning import Look
from common.learning.loop import Progress

WARM_UP = 0.25
"""Part of the steps in which labels are not doubted yet."""
_HEADER = "ostraka"


@dataclass(frozen=True)
class Turn:
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

    def told(self, progress: Progress | None) -> Progress | None:
        """Progress of this turn as progress of all."""
        return None if progress is None else lambda done, _: progress(self.done + done, self.total)


def turns(steps: int, rounds: int) -> Iterator[Turn]:
    """A warm-up of both networks and their `rounds`, together about `steps`; at least one step a turn.

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
        yield Turn(number, length, sum(lengths[:number]), sum(lengths))


class Standing:
    """A file of both networks after a turn, replaced whole; none: nothing is kept."""

    def __init__(self, path: Path | None, training: str) -> None:
        """Takes the file, and the training's fingerprint: a file of another training is not used."""
        self._path = path
        self._training = training

    def save(self, turn: Turn, nets: tuple[nn.Module, nn.Module], looks: list[Look]) -> None:
        """Keeps both networks as they stand after a turn."""
        if self._path is None:
            return
        header = {
            "training": self._training,
            "turns": turn.number + 1,
            "looks": [asdict(look) for look in looks],
        }
        tensors = {
            f"{row}/{name}": value.contiguous()
            for row, net in enumerate(nets)
            for name, value in net.state_dict().items()
        }
        write_checkpoint(self._path, save(tensors, {_HEADER: json.dumps(header)}))

    def restore(self, nets: tuple[nn.Module, nn.Module]) -> tuple[int, list[Look]]:
        """Puts both networks where the file says they stood: turns that were made, and looks."""
        found = self._read()
        if found is None:
            return 0, []
        header, tensors = found
        for row, net in enumerate(nets):
            prefix = f"{row}/"
            net.load_state_dict(
                {n.removeprefix(prefix): value for n, value in tensors.items() if n.startswith(prefix)}
            )
            net.eval()
        return int(header["turns"]), [Look(**look) for look in header["looks"]]

    def remove(self) -> None:
        """Removes the file of a training that is done."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def _read(self) -> tuple[dict[str, Any], dict[str, Tensor]] | None:
        if self._path is None or not self._path.exists():
            return None
        try:
            with safe_open(self._path, "pt") as file:
                header = json.loads(file.metadata()[_HEADER])
                if header["training"] != self._training:
                    return None
                return header, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (OSError, SafetensorError, ValueError, KeyError, TypeError):
            return None
