"""An answering party of Ostraka that serves while a job of NVFlare runs: no data pass through NVFlare."""

import time

from nvflare.apis.executor import Executor
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.apis.signal import Signal

import ostraka

POLL_S = 0.2


class AnsweringParty(Executor):
    """Serves a party's site folder on this client's machine until the time is over or the job is aborted."""

    def __init__(self, site: str) -> None:
        """Take the folder of the party's site, with trained teachers, on the client's machine."""
        super().__init__()
        self.site = site

    def execute(
        self, task_name: str, shareable: Shareable, fl_ctx: FLContext, abort_signal: Signal
    ) -> Shareable:
        """Serve for as many `seconds` as the task says, then finish what is under way."""
        try:
            with ostraka.Party(self.site).serve() as address:
                self.log_info(fl_ctx, f"answering at {address}")
                end = time.monotonic() + shareable["seconds"]
                while time.monotonic() < end and not abort_signal.triggered:
                    time.sleep(POLL_S)
        except ostraka.OstrakaError as error:
            self.log_error(fl_ctx, f"{error.code}: {error}")
            return make_reply(ReturnCode.EXECUTION_EXCEPTION)
        return make_reply(ReturnCode.OK)
