"""The calls that an answering party serves."""

from collections.abc import Iterator, Mapping

import grpc

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Role
from ostraka.common.rpc import join, peer_identity
from ostraka.common.rpc.steps import StepId, read_header, read_request, reply_messages
from ostraka.protos.ostraka.v1 import common_pb2, party_pb2, party_pb2_grpc
from ostraka.services.admission.grants import Checker
from ostraka.services.admission.kept_grants import KeptGrants
from ostraka.services.encrypted.answering import EncryptedVoter
from ostraka.services.encrypted.batch import EncryptedBatch
from ostraka.services.encrypted.steps import Name
from ostraka.services.hosting.admission import Admission
from ostraka.services.hosting.hosted import Hosted
from ostraka.services.hosting.hosting import Hosting
from ostraka.services.voting.voting import Content, Voter

CALLS = ("Vote", "Begin", "Garble", "Evaluate", "Compare")
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
        encrypted: EncryptedVoter,
    ) -> None:
        """Take what checks requests, what is hosted for how many, and what answers either kind of query."""
        self._checker = checker
        self._grants = KeptGrants(checker)
        self._hosting = hosting
        self._admission = admission
        self._voter = voter
        self._encrypted = encrypted

    def Vote(
        self, request_iterator: Iterator[party_pb2.VoteRequest], context: grpc.ServicerContext
    ) -> Iterator[party_pb2.VoteReply]:
        """Votes on one batch; nothing of it is read before its header is found good."""
        first = next(request_iterator, party_pb2.VoteRequest())
        if first.WhichOneof("part") != "header":
            raise OstrakaError(ErrorCode.MESSAGE_INVALID, "A vote begins with its header: send it first.")
        header, querier = first.header, peer_identity(context)
        permission = self._grants.check(header, querier)
        hosted = self._hosting.current
        hosted.terms.check_plain(permission, querier, header)
        size = Content.size(header)
        with self._admission.place(size, querier.site):
            data = join((message.chunk for message in request_iterator), expected=size, sha256=header.sha256)
            reply = self._voter.answer(hosted, permission, Content(data, header.members), querier)
        yield party_pb2.VoteReply(header=reply)

    def Begin(self, request: party_pb2.BeginRequest, context: grpc.ServicerContext) -> party_pb2.BeginReply:
        """Begins a batch of encrypted queries, permitted as a vote is."""
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
        """Streams the circuits of a batch."""
        step, header, batch = self._step(request_iterator, context, Name.GARBLE)
        extension = read_request(header, request_iterator, most=batch.circuits.sizes.extension)
        yield from reply_messages(step, batch.circuits.sizes.tables, batch.garble(extension))

    def Evaluate(
        self, request_iterator: Iterator[common_pb2.Step], context: grpc.ServicerContext
    ) -> Iterator[common_pb2.Step]:
        """Streams encrypted masked logits."""
        step, header, batch = self._step(request_iterator, context, Name.EVALUATE)
        queries = read_request(header, request_iterator, most=batch.logits.most_request_bytes)
        yield from reply_messages(step, batch.logits.reply_bytes, batch.evaluate(queries))

    def Compare(
        self, request_iterator: Iterator[common_pb2.Step], context: grpc.ServicerContext
    ) -> Iterator[common_pb2.Step]:
        """Streams the labels of this party's words, once its share of the ballots is with the guardian."""
        step, header, batch = self._step(request_iterator, context, Name.COMPARE)
        correction = read_request(header, request_iterator, most=batch.circuits.sizes.correction)
        yield from reply_messages(step, batch.circuits.sizes.labels, batch.compare(correction))

    def _step(
        self, messages: Iterator[common_pb2.Step], context: grpc.ServicerContext, name: Name
    ) -> tuple[StepId, common_pb2.StepHeader, EncryptedBatch]:
        """Return what a step belongs to; read nothing of it before its header is found good."""
        header = read_header(messages)
        step = StepId.of(header)
        if step.stage != common_pb2.STAGE_BALLOTS:
            raise OstrakaError(
                ErrorCode.MESSAGE_INVALID, f"{name} computes ballots: name that stage in its header."
            )
        batch = self._encrypted.find(step.session_id, step.batch_id, peer_identity(context), name)
        return step, header, batch
