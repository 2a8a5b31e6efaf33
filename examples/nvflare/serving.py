"""The server's part of such a job: it asks every client to serve for a time, and gets nothing back."""

from typing import Any

from nvflare.apis.controller_spec import Task
from nvflare.apis.fl_context import FLContext
from nvflare.apis.impl.controller import Controller
from nvflare.apis.shareable import Shareable
from nvflare.apis.signal import Signal

TASK = "serve"


class Serving(Controller):
    """Has all clients serve, and ends when they have."""

    def __init__(self, seconds: float) -> None:
        """Take how long they serve."""
        super().__init__()
        self.seconds = seconds

    def start_controller(self, fl_ctx: FLContext) -> None:
        """Do nothing: all work is in `control_flow`."""

    def control_flow(self, abort_signal: Signal, fl_ctx: FLContext) -> None:
        """Send the task, and wait until every client has ended it."""
        data = Shareable()
        data["seconds"] = self.seconds
        self.broadcast_and_wait(
            Task(name=TASK, data=data), fl_ctx, min_responses=0, abort_signal=abort_signal
        )

    def process_result_of_unknown_task(self, *_: Any, **__: Any) -> None:
        """Do nothing: no result says anything."""

    def stop_controller(self, fl_ctx: FLContext) -> None:
        """Do nothing: clients end with their task."""
