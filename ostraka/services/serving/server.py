"""The answering party's server: its calls, its parts, and serving until told to stop."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import grpc
import structlog
from prometheus_client import CollectorRegistry

from ostraka.common.clock import Clock, SystemClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Role
from ostraka.common.rpc import join, make_server, peer_identity
from ostraka.common.rpc.server import require_free
from ostraka.common.rpc.serving import stop_on_signal, write_ready
from ostraka.common.rpc.shares import read_stream
from ostraka.common.rpc.steps import StepId, read_header, read_request, reply_messages
from ostraka.common.task import load_task
from ostraka.common.telemetry.rpc import RpcMetrics
from ostraka.protos.ostraka.v1 import common_pb2, party_pb2, party_pb2_grpc
from ostraka.services.admission.grants import Checker, KeptGrants
from ostraka.services.encrypted.answering import EncryptedVoter
from ostraka.services.encrypted.batch import EncryptedBatch, Name
from ostraka.services.encrypted.head_processes import HeadProcesses, head_processes
from ostraka.services.hosting.admission import Admission
from ostraka.services.hosting.hosting import Hosted, Hosting, Loader, Orders
from ostraka.services.hosting.prediction_thread import PredictionThread
from ostraka.services.serving.metrics import TimedSubmitter
from ostraka.services.serving.wiring import AGAIN_S, PartyLink, PartySite, open_link, serving
from ostraka.services.sums.summing import Summer, answer_bytes
from ostraka.services.voting.answers import IdempotentAnswers
from ostraka.services.voting.voting import Content, Voter

CALLS = ("Vote", "Sum", "Begin", "Garble", "Evaluate", "Compare")
ROLES: Mapping[str, frozenset[Role]] = {
    f"/ostraka.v1.Party/{call}": frozenset({Role.QUERY}) for call in CALLS
}


class PartyService(party_pb2_grpc.PartyServicer):
    """Serves querying parties; their role is checked before a method runs."""

    def __init__(
        self,
        checker: Checker,
        hosting: Hosting[Hosted],
        admission: Admission,
        voter: Voter,
        summer: Summer,
        encrypted: EncryptedVoter,
    ) -> None:
        self._checker = checker
        self._grants = KeptGrants(checker)
        self._hosting = hosting
        self._admission = admission
        self._voter = voter
        self._summer = summer
        self._encrypted = encrypted

    def Vote(
        self, request_iterator: Iterator[party_pb2.VoteRequest], context: grpc.ServicerContext
    ) -> Iterator[party_pb2.VoteReply]:
        """Vote on one batch; its content is read only after its header was checked."""
        header, chunks = read_stream(request_iterator)
        querier = peer_identity(context)
        permission = self._grants.check(header, querier, header.rows)
        hosted = self._hosting.current
        hosted.terms.check_plain(permission, querier, header)
        size = Content.size(header)
        # The place is taken before the content is read, because it accounts for the content's memory.
        with self._admission.place(size, querier.site):
            data = join(chunks, expected=size, sha256=header.sha256)
            reply = self._voter.answer(hosted, permission, Content(data, header.members), querier)
        yield party_pb2.VoteReply(header=reply)

    def Sum(
        self, request_iterator: Iterator[party_pb2.SumRequest], context: grpc.ServicerContext
    ) -> party_pb2.VoteReplyHeader:
        """Answer a question about a sum; its content is read only after its header was checked."""
        header, chunks = read_stream(request_iterator)
        querier = peer_identity(context)
        permission = self._grants.check(header, querier, rows=1)
        hosted = self._hosting.current
        hosted.terms.check_sum(permission, querier, header)
        # A question of a few bytes may have an answer of the maximum size of a share.
        size = header.size + answer_bytes(permission.plan)
        with self._admission.place(size, querier.site):
            data = join(chunks, expected=header.size, sha256=header.sha256)
            return self._summer.answer(hosted, permission, data, querier)

    def Begin(self, request: party_pb2.BeginRequest, context: grpc.ServicerContext) -> party_pb2.BeginReply:
        """Begin a batch of encrypted queries; permissions are checked as for a vote."""
        querier = peer_identity(context)
        permission = self._checker.check(request, querier)
        hosted = self._hosting.current
        hosted.terms.check_encrypted(permission, querier)
        with self._admission.place(len(request.point), querier.site):
            points = self._encrypted.begin(hosted, permission, request.point, querier)
        return party_pb2.BeginReply(points=points)

    def Garble(
        self, request_iterator: Iterator[common_pb2.Step], context: grpc.ServicerContext
    ) -> Iterator[common_pb2.Step]:
        """Stream the garbled circuits of a batch."""
        step, header, batch = self._step(request_iterator, context, Name.GARBLE)
        extension = read_request(header, request_iterator, most=batch.circuits.sizes.extension)
        yield from reply_messages(step, batch.circuits.sizes.tables, batch.garble(extension))

    def Evaluate(
        self, request_iterator: Iterator[common_pb2.Step], context: grpc.ServicerContext
    ) -> Iterator[common_pb2.Step]:
        """Stream encrypted masked logits."""
        step, header, batch = self._step(request_iterator, context, Name.EVALUATE)
        queries = read_request(header, request_iterator, most=batch.logits.most_request_bytes)
        yield from reply_messages(step, batch.logits.reply_bytes, batch.evaluate(queries))

    def Compare(
        self, request_iterator: Iterator[common_pb2.Step], context: grpc.ServicerContext
    ) -> Iterator[common_pb2.Step]:
        """Stream the labels of this party's words, once the guardian has its share of the ballots."""
        step, header, batch = self._step(request_iterator, context, Name.COMPARE)
        correction = read_request(header, request_iterator, most=batch.circuits.sizes.correction)
        yield from reply_messages(step, batch.circuits.sizes.labels, batch.compare(correction))

    def _step(
        self, messages: Iterator[common_pb2.Step], context: grpc.ServicerContext, name: Name
    ) -> tuple[StepId, common_pb2.StepHeader, EncryptedBatch]:
        """Return a step, its header and its batch; content is read only after the header was checked."""
        header = read_header(messages)
        step = StepId.of(header)
        if step.stage != common_pb2.STAGE_BALLOTS:
            raise OstrakaError(
                ErrorCode.MESSAGE_INVALID, f"{name} computes ballots: name that stage in its header."
            )
        batch = self._encrypted.find(step.session_id, step.batch_id, peer_identity(context), name)
        return step, header, batch


def serve(folder: Path, *, ready_file: Path | None = None, insecure: bool = False) -> None:
    """Serve the answering party of site folder `folder` until SIGTERM or SIGINT, then drain.

    SIGHUP reloads its teachers, without dropping a session.

    Args:
        folder: the provisioned site with `task.toml` and `teachers/`; the journal is `journal.db` in it.
        ready_file: where to write {"address": ...} once the party is registered and accepts votes.
        insecure: no TLS; loopback only.

    Raises:
        OstrakaError: `config.invalid`, `task.mismatch`, `model.invalid`, `ledger.*`, `server.port_in_use`,
            `server.insecure_refused`, `server.device_gone`, `device.missing`, or the guardian's error.
    """
    orders = Orders()
    stop = stop_on_signal(hang_up=lambda: orders.put("reload"))
    with running(folder, stop=stop, orders=orders, insecure=insecure) as address:
        if ready_file is not None and not stop.is_set():
            write_ready(ready_file, address)
        structlog.get_logger().info("party.serving", address=address)
        stop.wait()


@contextmanager
def running(
    folder: Path,
    *,
    stop: threading.Event,
    orders: Orders | None = None,
    insecure: bool = False,
    clock: Clock | None = None,
    again_s: float = AGAIN_S,
    registry: CollectorRegistry | None = None,
) -> Iterator[str]:
    """Run a registered party that serves in the block, and yield its address; drain at the end.

    Waits for the guardian until `stop` is set, and registers again every `again_s` seconds. At the same
    interval, a failed device is tested again; until it works, health reports not serving. Teachers are
    reloaded whenever `orders` get "reload". Metrics are stored in `registry`, or in a new one.
    """
    clock = clock or SystemClock()
    site = PartySite.load(folder)
    task = load_task(folder / site.section.task)
    device = site.section.open_device()
    # Before anything is opened: a party configured for a GPU does not serve without it.
    device.require()
    with (
        open_link(site, clock, stop, registry, insecure=insecure) as link,
        closing(PredictionThread(device, link.metrics)) as thread,
        head_processes() as processes,
    ):
        # Before teachers are loaded, and anything about them is logged.
        require_free(site.config.listen)
        name = site.config.site
        votes_per_person = site.section.max_votes_per_person
        loader = Loader(folder, name, task, site.policy, votes_per_person, thread)
        hosting = Hosting(
            loader.load,
            link.guardian,
            lambda hosted: device.state.retry(hosted.probe),
            lambda hosted: hosted.make_room(device, unload=site.section.unload_first),
        )
        admission = Admission()
        link.metrics.watch_places(admission)
        link.metrics.watch_device(thread)
        service = _service(site, link, hosting, admission, clock, processes)
        bound = make_server(
            site.credentials,
            site.config.listen,
            [lambda server: party_pb2_grpc.add_PartyServicer_to_server(service, server)],
            ROLES,
            clock,
            insecure=insecure,
            metrics=RpcMetrics(link.registry),
        )
        # The callback runs at once, so the server must exist by now.
        device.state.watch(lambda works: bound.health.turn(serving=works))
        with serving(
            bound, hosting, admission, stop, orders=orders, again_s=again_s, agent=link.agent
        ) as address:
            yield address


def _service(
    site: PartySite,
    link: PartyLink,
    hosting: Hosting[Hosted],
    admission: Admission,
    clock: Clock,
    processes: HeadProcesses | None,
) -> PartyService:
    submitter = TimedSubmitter(link.guardian, link.metrics)
    count_batch = link.metrics.count_batch
    answers = IdempotentAnswers(link.journal, submitter, clock, on_answered=count_batch)
    return PartyService(
        Checker(site.credentials, site.guardian, clock),
        hosting,
        admission,
        Voter(answers),
        Summer(answers),
        EncryptedVoter(link.journal, submitter, clock, on_answered=count_batch, processes=processes),
    )
