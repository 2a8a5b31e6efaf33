"""Control variates of a party's teachers between rounds, on disk, so a restarted party continues."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import replace_durably
from ostraka.services.teachers.manifest import TeachersManifest

Variates = NDArray[np.float32]
_STATE = "state.json"


class _State(BaseModel):
    """Which batches the stored variates belong to.

    Attributes:
        session: of the training.
        lead: the site that leads it.
        counted: the last batch whose update was counted; None before the first, when variates are 0.
        proposed: the batch after that, if it is not known yet whether its update was counted.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    session: str
    lead: str
    counted: int | None = None
    proposed: int | None = None


@dataclass(frozen=True)
class KeptVariates:
    """The variates of one training in a folder, consistent after a crash; as secret as the teachers.

    Attributes:
        folder: of this training; files of another training are removed.
        manifest: of the teachers.
        parameters: number of parameters of each teacher, d.
    """

    folder: Path
    manifest: TeachersManifest
    parameters: int

    def open(self) -> None:
        """Start, or resume if the folder is of a training of the same teachers."""
        try:
            same = TeachersManifest.load(self.folder) == self.manifest
        except OstrakaError:
            same = False
        if not same:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True, mode=0o700)
            self.manifest.save(self.folder)

    def settle(self, session: str, lead: str, counted: int | None) -> Variates:
        """Return the variates (teachers, d) after batch `counted`, the last to count this party's update.

        Raises `policy.refused` if another site has led these teachers, or `batch.out_of_order` if the batch
        is neither the last proposed one nor the one before.
        """
        state = self._state()
        if state is not None and state.lead != lead:
            raise self._other_lead_error(state.lead)
        if state is None or (state.session != session and counted is None):
            state = _State(session=session, lead=lead)
            self._write(state)
        elif state.session == session and counted is not None and counted == state.proposed:
            state = _State(session=session, lead=lead, counted=counted)
            self._write(state)
        if (state.session, state.counted) != (session, counted):
            batch = "no batch" if counted is None else f"batch {counted}"
            raise OstrakaError(
                ErrorCode.BATCH_OUT_OF_ORDER,
                f"This party does not know of an update of its own that counted in {batch} as its "
                "last: go on without this party, or begin the training again.",
            )
        return self._read(state)

    def propose(self, session: str, lead: str, batch: int, variates: Variates) -> None:
        """Store variates that become valid if this batch's update is counted."""
        state = self._state()
        counted = state.counted if state is not None else None
        # The variates before the state that refers to them: after a crash in between, the state is still
        # valid.
        replace_durably(self.folder / _file(batch), variates.astype("<f4").tobytes())
        self._write(_State(session=session, lead=lead, counted=counted, proposed=batch))

    def _state(self) -> _State | None:
        try:
            return _State.model_validate_json((self.folder / _STATE).read_bytes())
        except FileNotFoundError:
            return None
        except ValidationError as exc:
            raise self._damage_error() from exc

    def _read(self, state: _State) -> Variates:
        shape = (self.manifest.teachers, self.parameters)
        if state.counted is None:
            return np.zeros(shape, np.float32)
        try:
            values = np.fromfile(self.folder / _file(state.counted), "<f4")
            return values.astype(np.float32).reshape(shape)
        except (OSError, ValueError) as exc:
            raise self._damage_error() from exc

    def _write(self, state: _State) -> None:
        """Store the state, and remove unused files."""
        replace_durably(self.folder / _STATE, state.model_dump_json().encode())
        used = {_file(batch) for batch in (state.counted, state.proposed) if batch is not None}
        for path in self.folder.glob("*.f4"):
            if path.name not in used:
                path.unlink()

    def _other_lead_error(self, lead: str) -> OstrakaError:
        return OstrakaError(
            ErrorCode.POLICY_REFUSED,
            f"This party's training is led by {lead}: let {lead} go on, or have the party's operator stop "
            f"it, remove {self.folder.name} and start it again to begin another.",
        )

    def _damage_error(self) -> OstrakaError:
        return OstrakaError(
            ErrorCode.MODEL_INVALID,
            f"What {self.folder} keeps of this training is damaged: remove the folder, and begin the "
            "training again.",
        )


def _file(batch: int) -> str:
    return f"{batch}.f4"
